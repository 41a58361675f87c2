"""The parties of a demo or a test as processes of this machine, each in a folder of its own that others cannot open.

What an operator does by hand is done here in the same way: write a configuration, run `init`, exchange cards, `serve`.
Nothing is shared but what would travel by mail: cards, invitations and tickets.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, ClassVar, Final, Protocol

from peos.ending import ends_with_this
from peos.errors import PeosError, WrongInput, in_words
from peos.registry import DEFAULT_PROTOCOL

START_SECONDS: Final = 120.0  # of a loaded machine; one that ends meanwhile is noticed at once
STOP_SECONDS: Final = 20.0
HOST: Final = "127.0.0.1"
NAME: Final = "localhost"  # of it, which certificates for browsers name
_PORTS: Final = "ports.json"
AUTHORITY: Final = "web-authority.pem"
_CHOOSE: Final = "choose a folder that does not exist yet"
PORTS: Final = (20_000, 32_000)
_LANES: Final = 16
_given: set[int] = set()


class Certified(Protocol):
    """A port's certificate and its key, PEM."""

    @property
    def pem(self) -> bytes:
        """With what signed it."""

    @property
    def key(self) -> bytes:
        """The private key."""


Certify = Callable[[Sequence[str]], tuple[bytes, Sequence[Certified]]]
"""Makes an authority's certificate, PEM, and one that it has signed for each name."""


def free_port() -> int:
    """A port that was free a moment ago, never given twice by this process, nor by most others that run next to it.

    It lies below the ports of outgoing connections, so that no other process takes it while its party restarts; and of
    those in the lane of this process's number, so that two clusters that start at the same time seldom draw the same.
    """
    from peos.crypto.randomness import system

    rng = system()
    while True:
        port = PORTS[0] + os.getpid() % _LANES + _LANES * rng.integer_below((PORTS[1] - PORTS[0]) // _LANES)
        with socket.socket() as probe:
            if port not in _given and probe.connect_ex((HOST, port)):
                _given.add(port)
                return port


@dataclass
class Party:
    """One process with its folder, its configuration and its log."""

    name: str
    module: str
    folder: Path
    config: Path
    card: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    launcher: tuple[str, ...] = ()  # a module that runs another one, with its own arguments
    spent: dict[str, float] = field(default_factory=dict)  # by the command that was run last
    _log: IO[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        """Where it writes what it has to say."""
        return self.folder / "log.jsonl"

    def run(self, *arguments: str, tell: Callable[[str], None] | None = None) -> str:
        """Run one of its commands to the end; what it printed. PeosError with its own sentence if it failed.

        `tell` is given what it says on standard error, line by line: its progress.
        """
        command = [sys.executable, "-m", *self.launcher, self.module, *arguments]
        with subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ends_with_this(),
        ) as ran:
            assert ran.stdout is not None, "it was asked for"
            assert ran.stderr is not None, "it was asked for"
            printed: list[str] = []
            reader = threading.Thread(target=_read, args=(ran.stdout, printed), daemon=True)
            reader.start()
            said = ""
            for line in ran.stderr:
                said = line.strip() or said
                if tell is not None and line.strip():
                    tell(line.rstrip())
            reader.join()
            _, status, spent = os.wait4(ran.pid, 0)  # this very process's, and not all that ever ended
            ran.returncode = os.waitstatus_to_exitcode(status)
            self.spent = {"seconds": round(spent.ru_utime + spent.ru_stime, 2), "peak_rss": spent.ru_maxrss * 1024}
        if ran.returncode:
            what = " ".join((self.module, *arguments[:1]))
            raise PeosError(
                "localcluster.command",
                f"{self.name}: `{what}` failed: {said or 'it said nothing'}",
                hint=f"its folder is {self.folder}",
            )
        return "".join(printed)

    def start(self) -> None:
        """Start its server; it goes on from whatever is durable."""
        self._log = open(  # noqa: SIM115 - it is closed when the process is stopped
            os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab"
        )
        command = [sys.executable, "-m", *self.launcher, self.module, "serve", "--config", str(self.config)]
        self.process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=ends_with_this(),
            process_group=0,  # and no session: a party that is stopped is woken by the system when its starter ends
        )

    def wait_until_listening(self, ports: Sequence[int]) -> None:
        """Until its ports answer, or PeosError with the end of its log."""
        give_up = time.monotonic() + START_SECONDS
        for port in ports:
            while True:
                with socket.socket() as probe:
                    if probe.connect_ex((HOST, port)) == 0:
                        break
                if self.process is None or self.process.poll() is not None or time.monotonic() > give_up:
                    raise PeosError("localcluster.start", f"{self.name} did not start", hint=f"its log is {self.log}")
                time.sleep(0.05)

    def stop(self, *, kill: bool = False) -> None:
        """SIGTERM and wait, or SIGKILL."""
        if self.process is None:
            return
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL if kill else signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process = None
        if self._log is not None:
            self._log.close()


class LocalCluster:
    """r shufflers, and an analyzer if one is wanted; a context manager that stops what it started."""

    init_launcher: ClassVar[tuple[str, ...]] = ()
    """A module that runs each party's `init`, as tests have one."""

    def __init__(
        self,
        folder: Path,
        *,
        shufflers: int = 3,
        analyzer_card: Path | None = None,
        protocols: Sequence[str] = (DEFAULT_PROTOCOL,),
        host: Callable[[str], str] = lambda _: HOST,
        resumes: bool = False,
    ) -> None:
        self.ports: dict[str, list[int]] = {}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_empty = not any(folder.iterdir())
        except OSError as error:
            raise WrongInput(
                "localcluster.folder", f"the folder {folder} cannot be made: {in_words(error)}", hint=_CHOOSE
            ) from None
        self.is_resumed = resumes and (folder / _PORTS).is_file()
        if self.is_resumed:
            self.ports = json.loads((folder / _PORTS).read_text(encoding="utf-8"))
            shufflers = len(self.ports)
        elif not is_empty:
            raise WrongInput("localcluster.folder", f"{folder} is not empty", hint=_CHOOSE)
        self.folder = folder
        self._host = host  # of a party, by its name
        self._protocols = json.dumps(list(protocols))  # TOML writes such a list in the same way
        self.analyzer = None if analyzer_card else self._party("analyzer", "analyzer")
        self.shufflers = [self._party(f"shuffler-{number}", "shuffler") for number in range(1, shufflers + 1)]
        self._analyzer_card = analyzer_card or folder / "analyzer.card"

    def __enter__(self) -> "LocalCluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def parties(self) -> list[Party]:
        """The processes that serve."""
        return [*self.shufflers, *([self.analyzer] if self.analyzer else [])]

    def init(self, *, most_eps_local: float = 16.0, least_reports: int = 1) -> None:
        """Write the configurations, draw the keys, exchange the cards."""
        _write(self.folder / _PORTS, json.dumps({party.name: self.ports[party.name] for party in self.shufflers}))
        for party in self.shufflers:
            users, peers = (f"{self._host(party.name)}:{port}" for port in self.ports[party.name])
            self._write_passphrase(party)
            _write(
                party.config,
                f'name = "{party.name}"\nfolder = "state"\npassphrase_file = "passphrase"\n\n'
                f'[listen]\nusers = "{users}"\n'
                f'peers = "{peers}"\n\n[policy]\nanalyzers = ["{self._analyzer_card}"]\naccept = "auto"\n'
                f"most_eps_local = {most_eps_local}\nleast_reports = {least_reports}\n"
                f"protocols = {self._protocols}\n",
            )
            self._make_keys(party)
            party.card = self._publish(party, "shuffler.card")
        if self.analyzer is not None:
            self._init_analyzer(self.analyzer)

    def open_web(self, origins: Sequence[str], certify: Certify | None = None) -> bool:
        """Give each shuffler a port for browsers, for pages of these origins; False if it has one for them already.

        Without TLS it is reached from this machine alone, as from behind a proxy. With `certify` its certificate is of
        an authority that a browser here may be given; that authority's certificate lies in the folder.
        """
        tls = certify is not None
        known = [_listen(party) for party in self.shufflers]
        if any("web" in listen for listen in known):
            has = {(tuple(listen.get("web_origins", ())), "web_certificate" in listen) for listen in known}
            if has == {(tuple(origins), tls)}:
                return False
            raise WrongInput(
                "localcluster.web",
                f"the shufflers in {self.folder} listen for browsers in another way",
                hint="change [listen] in their shuffler.toml, or choose a folder that does not exist yet",
            )
        if certify is not None:
            authority, made = certify([party.name for party in self.shufflers])
            _write(self.folder / AUTHORITY, authority.decode())
            for party, certificate in zip(self.shufflers, made, strict=True):
                _write(party.folder / "web.pem", certificate.pem.decode())
                _write(party.folder / "web.key", certificate.key.decode())
        for party in self.shufflers:
            added = f'web = "{HOST}:{free_port()}"\nweb_origins = {json.dumps(list(origins))}\n'
            more = 'web_certificate = "web.pem"\nweb_key = "web.key"\n' if tls else f'web_proxies = ["{HOST}"]\n'
            text = party.config.read_text(encoding="utf-8")
            _write(party.config, text.replace("[listen]\n", f"[listen]\n{added}{more}", 1))
        return True

    def web_addresses(self) -> dict[str, str]:
        """Where browsers reach the shufflers, by identity; empty if they do not listen for them."""
        found = {}
        for party, identity in self._identified():
            listen = _listen(party)
            if "web_certificate" in listen:
                found[identity] = f"https://{NAME}:{listen['web'].rpartition(':')[2]}"
            elif "web" in listen:
                found[identity] = f"http://{listen['web']}"
        return found

    def _init_analyzer(self, analyzer: Party) -> None:
        self._write_passphrase(analyzer)
        cards = ", ".join(f'"{party.card}"' for party in self.shufflers)
        _write(
            analyzer.config,
            f'name = "analyzer"\nfolder = "state"\npassphrase_file = "passphrase"\nshufflers = [{cards}]\n\n'
            f'[listen]\npeers = "{self._host(analyzer.name)}:{self.ports[analyzer.name][0]}"\n',
        )
        self._make_keys(analyzer)
        analyzer.card = self._publish(analyzer, "analyzer.card")

    def _make_keys(self, party: Party) -> None:
        replace(party, launcher=self.init_launcher or party.launcher).run("init", "--config", str(party.config))

    def _write_passphrase(self, party: Party) -> None:
        """In the folder that it opens: of a demo nothing is worth more than its folder's 0700."""
        from peos.crypto.randomness import system

        _write(party.folder / "passphrase", system().bytes(16).hex())

    def start(self) -> None:
        """Start every party, and wait until its ports answer."""
        for party in self.parties:
            party.start()
        for party in self.parties:
            self._wait_for(party)

    def restart(self, party: Party) -> None:
        """Start one party again, on the ports that its card names."""
        party.start()
        self._wait_for(party)

    def _wait_for(self, party: Party) -> None:
        web = _listen(party).get("web")
        party.wait_until_listening([*self.ports[party.name], *([int(web.rpartition(":")[2])] if web else [])])

    def stop(self) -> None:
        """Stop every party; all at once, since none needs another to stop."""
        for party in self.parties:
            if party.process is not None and party.process.poll() is None:
                os.killpg(party.process.pid, signal.SIGTERM)
        for party in self.parties:
            party.stop()

    def identities(self) -> list[str]:
        """The shufflers' identities in hexadecimal, as a client pins them."""
        return [identity for _, identity in self._identified()]

    def _identified(self) -> list[tuple[Party, str]]:
        from peos.wire.parties import decode_card

        return [(one, decode_card(one.card.read_bytes()).identity.hex()) for one in self.shufflers if one.card]

    def client(self, name: str = "users", *, most_eps_local: float = 16.0, budget: float = 16.0) -> Party:
        """A client's folder and configuration, with the shufflers pinned."""
        party = self._party(name, "user_client")
        self.write_client(party.config, most_eps_local=most_eps_local, least_reports=1, budget=budget)
        return party

    def write_client(self, path: Path, *, most_eps_local: float, least_reports: int, budget: float) -> None:
        """A user's configuration that pins these shufflers; her store lies next to it."""
        pins = "".join(f'    "{identity}",  # {party.name}\n' for party, identity in self._identified())
        _write(
            path,
            f'folder = "memory"\nshufflers = [\n{pins}]\nmost_eps_local = {most_eps_local:g}\n'
            f"least_reports = {least_reports}\nbudget = {budget:g}\nprotocols = {self._protocols}\n",
        )

    def write_page(self, path: Path, *, most_eps_local: float, least_reports: int, budget: float) -> None:
        """The same for a page (docs/browser.md): its config.json."""
        limits = {"mostEpsLocal": most_eps_local, "leastReports": least_reports, "leastFakes": 0, "budget": budget}
        page = {"shufflers": self.web_addresses(), **limits, "store": "answers"}
        _write(path, json.dumps(page, indent=1) + "\n")

    def cost(self) -> list[dict[str, Any]]:
        """What each party has spent so far: seconds of processor time, bytes, and the most memory at a time."""
        return [_cost(party) for party in self.parties]

    def _party(self, name: str, module: str) -> Party:
        folder = self.folder / name
        card = self.folder / f"{name}.card"
        if name not in self.ports:
            folder.mkdir(mode=0o700)
            self.ports[name] = [free_port() for _ in range(2 if module == "shuffler" else 1)]
        return Party(name, module, folder, folder / f"{module}.toml", card if self.is_resumed else None)

    def _publish(self, party: Party, card: str) -> Path:
        """Copy a card to where the others find it; their folders are closed to one another."""
        public = self.folder / (card if party.module == "analyzer" else f"{party.name}.card")
        shutil.copyfile(party.folder / "state" / card, public)
        return public


def _read(out: IO[str], printed: list[str]) -> None:
    """All that a command prints; an interrupt may have closed the stream under this thread."""
    with contextlib.suppress(OSError, ValueError):
        printed.append(out.read())


def _listen(party: Party) -> dict[str, Any]:
    """Where a party listens, by its configuration, which may have been changed since it was written."""
    found: dict[str, Any] = tomllib.loads(party.config.read_text(encoding="utf-8"))["listen"]
    return found


def _write(path: Path, content: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(content)


def _cost(party: Party) -> dict[str, Any]:
    found: dict[str, Any] = {"party": party.name, "seconds": None, "sent": None, "received": None, "peak_rss": None}
    if party.process is None:
        return found
    try:
        group = _group(party.process.pid)
        found["seconds"] = round(sum(map(_processor_seconds, group)), 2)
        found["peak_rss"] = sum(map(_peak_rss, group))
        lines = json.loads((party.folder / "state" / "status.json").read_text())
        found["sent"] = sum(line["sent"] for line in lines)
        found["received"] = sum(line["received"] for line in lines)
    except (OSError, KeyError, ValueError, StopIteration):
        pass  # not every system tells, and not every party keeps count
    return found


def _group(leader: int) -> list[int]:
    """The processes of a party: its server, which leads the group, and its workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # one that has just ended
            if int(_stat(path)[2]) == leader:
                found.append(int(path.parent.name))
    return found


def _stat(path: Path) -> list[str]:
    """The fields of a process after its name, which may hold anything."""
    return path.read_text().rpartition(")")[2].split()


def _processor_seconds(process: int) -> float:
    """Its own and its ended children's, in user and system mode."""
    return sum(map(int, _stat(Path(f"/proc/{process}/stat"))[11:15])) / os.sysconf("SC_CLK_TCK")


def _peak_rss(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024
