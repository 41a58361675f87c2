"""`python -m tests.planted`: one mistake of each kind, planted in a copy of the project, is seen by `make test`.

Each is one line of the project made wrong, and the test that must fail then. The tests are among those that `make test`
runs, without PEOS_FULL. docs/testing.md lists them; `--write` writes its table. `--only WORDS` plants those whose kind
has these words.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "testing.md"
PATIENCE: Final = 600.0
_COPIED: Final = ("analyzer", "benchmarks", "docs", "experiments", "peos", "proto", "shuffler", "tests", "user_client")
_FILES: Final = ("CONTRIBUTING.md", "Makefile", "README.md", "SECURITY.md", "pyproject.toml")


@dataclass(frozen=True)
class Mistake:
    """One line that is right, as it would be wrong, and who sees that."""

    kind: str
    file: str
    right: str
    wrong: str
    test: str


def _of(kind: str, file: str, right: str, wrong: str, test: str) -> Mistake:
    return Mistake(kind, file, right, wrong, f"tests/{test}")


MISTAKES: Final = (
    _of(
        "a mechanism tells more than its ε_l",
        "peos/ldp/mixture.py",
        "return coins < np.uint64(self.threshold)",
        "return coins <= np.uint64(self.threshold)",
        "unit/ldp/test_privacy_by_enumeration.py",
    ),
    _of(
        "an estimate is biased",
        "peos/estimate/frequency.py",
        "- users * oracle.q - fakes * oracle.u",
        "- users * oracle.q",
        "unit/estimate/test_frequency.py",
    ),
    _of(
        "post-processing takes noise for smaller than it is",
        "peos/estimate/post_processing/cut.py",
        "fakes=estimate.fakes, frequency=0.0",
        "fakes=0, frequency=0.0",
        "unit/estimate/post_processing/test_rules.py",
    ),
    _of(
        "a guarantee is claimed that does not hold",
        "peos/privacy/theorem.py",
        "((users - 1) * mechanism.gamma + fakes)",
        "(users * mechanism.gamma + fakes)",
        "unit/privacy/test_theorem.py",
    ),
    _of(
        "ciphertexts can be followed through a pass",
        "peos/shuffle/vectors.py",
        "self.zeros.zeros(len(masks)), hop=hop",
        "np.repeat(self.zeros.zeros(1), len(masks), axis=0), hop=hop",
        "security/test_inspection.py::test_an_honest_shuffle_is_opened_at_every_step_and_nobody_is_accused",
    ),
    _of(
        "a holder does not permute",
        "peos/shuffle/vectors.py",
        "index = index[key.stream().permutation(rows)]",
        "key.stream().permutation(rows)",
        "unit/shuffle/test_vectors.py",
    ),
    _of(
        "a mask does not cancel",
        "peos/shuffle/vectors.py",
        "subtract(mixed, task.minus)",
        "add(mixed, task.minus)",
        "unit/shuffle/test_vectors.py",
    ),
    _of(
        "randomness is used twice",
        "peos/shuffle/attempt.py",
        "self._round = _Round(self._rng.bytes(",
        "self._round = _Round(self._salt or self._rng.bytes(",
        "simulation/test_schedules.py::test_every_rule_holds_under_faults",
    ),
    _of(
        "an output is sent before all have stored it",
        "peos/shuffle/delivery.py",
        "if len(stored) < len(self._fellows):",
        "if not stored:",
        "simulation/test_schedules.py",
    ),
    _of(
        "a dummy that was lost is not missed",
        "peos/shuffle/combine.py",
        "    if lost:",
        "    if lost > 1:",
        "unit/shuffle/test_vectors.py",
    ),
    _of(
        "too few reports are shuffled",
        "peos/collection/freeze.py",
        "if counted - dummies < minimum:",
        "if counted < minimum:",
        "unit/collection/test_freeze.py",
    ),
    _of(
        "a dummy that is in the frozen list passes for one that was not sent",
        "peos/collection/reveal.py",
        "found += at == len(rows) or rows[at][:ID_BYTES] != one.id",
        "found += 1",
        "unit/shuffler_process/test_minimum.py",
    ),
    _of(
        "dummies are sent for their own sake at the end",
        "peos/collection/dummies.py",
        "place * self._part <= answered",
        "place * self._part <= max(answered, self.minimum)",
        "unit/collection/test_dummies.py",
    ),
    _of(
        "a second submission under one ticket is taken",
        "peos/collection/submission.py",
        "return Verdict.KNOWN if stored == new else Verdict.CONFLICT",
        "return Verdict.KNOWN",
        "unit/collection/test_submission.py",
    ),
    _of(
        "a part is not bound to its submission",
        "peos/collection/submission.py",
        "if _hash(part.salt, part.share) != part.hashes[me - 1]:",
        "if not part.hashes[me - 1]:",
        "unit/collection/test_submission.py",
    ),
    _of(
        "a policy is not kept",
        "peos/collection/policy.py",
        "if epsilon > self.most_eps_local:",
        "if epsilon > 2 * self.most_eps_local:",
        "unit/collection/test_policy.py",
    ),
    _of(
        "a user spends more than her budget",
        "peos/client/ledger.py",
        "if ledger.spent + cost > ledger.budget:",
        "if ledger.spent > ledger.budget:",
        "unit/client/test_answering.py",
    ),
    _of(
        "a shuffler that leaves a report out is not convicted",
        "peos/collection/membership.py",
        "if self._own[number] is Membership.ABSENT:",
        "if False:",
        "unit/collection/test_membership.py",
    ),
    _of(
        "one meaning has two encodings",
        "peos/wire/strict.py",
        "if understood.SerializeToString(deterministic=True) != data:",
        "if not understood.IsInitialized():",
        "unit/wire",
    ),
    _of(
        "a signature is good for something else",
        "peos/crypto/identity.py",
        'struct.pack(">I", len(field)) + field for field',
        "field for field",
        "unit/crypto/test_identity.py",
    ),
    _of(
        "a commit does not wait for the disk",
        "peos/store/database.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = OFF",
        "unit/store",
    ),
    _of(
        "what was deleted stays on the disk",
        "peos/store/database.py",
        "PRAGMA secure_delete = ON",
        "PRAGMA secure_delete = OFF",
        "unit/store",
    ),
    _of(
        "a secret gets into a log",
        "peos/net/logs.py",
        "            elif name in FIELDS:",
        "            else:",
        "unit/net/test_logs.py",
    ),
    _of(
        "a process' files are open to others",
        "peos/hardening.py",
        "os.umask(0o077)",
        "os.umask(0o022)",
        "unit/cli/test_hardened.py",
    ),
    _of(
        "an old TLS is spoken",
        "peos/net/guard.py",
        "== [TLS13]",
        "!= []",
        "unit/net",
    ),
    _of(
        "one address takes every connection",
        "peos/net/acceptor.py",
        "else self._limits.per_address",
        "else self._limits.connections",
        "unit/net/test_acceptor.py",
    ),
    _of(
        "any page may ask a shuffler's port for browsers",
        "shuffler/web.py",
        "if origin and origin not in self._origins:",
        "if not origin and origin in self._origins:",
        "unit/shuffler_process/test_web.py",
    ),
    _of(
        "any caller says which address it has",
        "shuffler/web.py",
        "if connected not in self._proxies:",
        "if not connected:",
        "unit/shuffler_process/test_web.py",
    ),
    _of(
        "a page shows markup that another party wrote",
        "analyzer/report/template.py",
        "autoescape=True,",
        "autoescape=False,",
        "unit/analyzer/test_report.py",
    ),
    _of(
        "a role imports another",
        "shuffler/meter.py",
        "class Meter:",
        "import analyzer.keys\n\n\nclass Meter:",
        "test_architecture.py",
    ),
    _of(
        "an interrupted command says that all went well",
        "peos/cli/running.py",
        "INTERRUPTED: Final = 130",
        "INTERRUPTED: Final = 0",
        "unit/cli/test_running.py",
    ),
    _of(
        "a process outlives the one that started it",
        "peos/ending.py",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "os.getpid()",
        "unit/test_ending.py",
    ),
    _of(
        "an inspection does not see rows that were replaced",
        "peos/shuffle/inspect/verdict.py",
        "and np.any(found != expected + taken + masks)",
        "and not np.any(found)",
        "security/test_inspection.py",
    ),
    _of(
        "workers' results come back in another order",
        "peos/compute/processes.py",
        "where = working.pop(future)",
        "where = working.pop(next(iter(working)))",
        "unit/compute/test_engines.py",
    ),
    _of(
        "an audit chain can be shortened and mended",
        "peos/store/audit.py",
        'labelled("audit", previous, place,',
        'labelled("audit", b"", place,',
        "unit/store/test_contract_delivery.py",
    ),
    _of(
        "all come back at the same moment after a failure",
        "peos/net/retry.py",
        "return rng.integer_below(int(most * 1000) + 1) / 1000",
        "return most",
        "unit/net/test_client.py",
    ),
    _of(
        "an answer is given twice",
        "peos/client/ledger.py",
        "if ledger.answered is not None:",
        "if ledger.answered == ():",
        "unit/client/test_answering.py",
    ),
    _of(
        "processes that are each right do not fit together",
        "shuffler/server.py",
        "new.replace(self._folder / STATUS)",
        'new.replace(self._folder / "standing.json")',
        "e2e/test_results.py::test_too_few_reports_are_not_shuffled_and_everybody_says_why",
    ),
)


def table() -> str:
    """The mistakes as docs/testing.md lists them."""
    rows = [f"| {one.kind} | `{one.file}` | `{one.test}` |" for one in MISTAKES]
    return "\n".join(["| mistake | planted in | seen by |", "| --- | --- | --- |", *rows, ""])


def page() -> str:
    """docs/testing.md, with this table at its end."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition("| mistake |")
    return before + table()


def copy(folder: Path) -> None:
    """The project as it lies here."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for name in _FILES:
        shutil.copy(ROOT / name, folder)


def fails(folder: Path, test: str) -> bool:
    """Whether the test fails there; anything else that goes wrong with it is no answer."""
    ran = subprocess.run(  # noqa: S603 - our own tests
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", test],
        cwd=folder,
        env={**os.environ, "PEOS_FULL": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if ran.returncode not in (0, 1):
        sys.exit(f"{test} did not run: {(ran.stdout + ran.stderr)[-2000:]}")
    return ran.returncode == 1


def seen(folder: Path, mistake: Mistake) -> bool:
    """Plant it in the copy, look, and take it out again."""
    path = folder / mistake.file
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(mistake.right, mistake.wrong), encoding="utf-8")
    try:
        return fails(folder, mistake.test)
    finally:
        path.write_text(before, encoding="utf-8")


def main() -> int:
    """0 if every test passes without its mistake and fails with it."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table of docs/testing.md, and plant nothing")
    parser.add_argument("--only", default="", help="mistakes whose kind has these words")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    unseen = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy(folder)
        for mistake in MISTAKES:
            if options.only in mistake.kind:
                well = not fails(folder, mistake.test)
                found = well and seen(folder, mistake)
                unseen += not found
                word = "seen" if found else "NOT SEEN" if well else "fails without it"
                print(f"{word}  {mistake.kind}: {mistake.test}", flush=True)  # noqa: T201 - a command's own words
    return int(unseen > 0)


if __name__ == "__main__":
    sys.exit(main())
