"""The console's pages over HTTP: who may ask, what each address shows, and what a form may do.

On loopback without a token, the one who reaches the port is the operator. A page of another site may not ask: the name
that the port was reached by must be this machine's own (against names that are pointed here), and a form must carry its
session's word. Nothing here knows a key: every answer is the serving process's.
"""

import base64
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from analyzer.console import forms, views
from analyzer.console.remote import Remote
from analyzer.console.sessions import LASTS, Session, Sessions
from analyzer.report import page as report_page
from analyzer.report.template import LOOK, hash_of, rendered_part, text_of
from peos import tabular
from peos.errors import Full, PeosError, Refused, RemoteFault, Unknown
from peos.net.guard import noted
from peos.net.observer import Observer
from peos.net.web import STATUS_OF, Receive, Scope, Send, read_body, respond, respond_on
from peos.wire import methods

Headers = list[tuple[bytes, bytes]]
_FORM_BYTES: Final = 1 << 20
_SILENCE: Final = 30.0
_WATCHERS: Final = 32  # pages that are kept up to date at a time
_NAME: Final = r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})"
_HTML: Final = "text/html; charset=utf-8"
_FILES: Final = {
    "/look.css": (LOOK, "text/css; charset=utf-8"),
    "/console.css": ("console/console.css", "text/css; charset=utf-8"),
    "/console.js": ("console/console.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("console/icon.svg", "image/svg+xml"),
}
_MISSING: Final = frozenset({"input.no_collection", "study.none"})
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_SEALED: Final = "default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
COOKIE: Final = "peos-console"


@dataclass(frozen=True)
class Request:
    """What came, its session settled."""

    method: str
    path: str
    session: Session
    form: Mapping[str, str]


@dataclass(frozen=True)
class Response:
    """What goes back: text, or a stream of events."""

    body: bytes = b""
    kind: str = _HTML
    status: int = 200
    policy: str = POLICY
    headers: tuple[tuple[bytes, bytes], ...] = ()
    session: Session | None = None  # whose cookie is set
    events: AsyncIterator[bytes] | None = None


Page = Callable[..., Awaitable[Response]]


class Console:
    """The application: `__call__` is what a server is given."""

    def __init__(
        self,
        remote: Remote,
        sessions: Sessions,
        hosts: frozenset[str],
        *,
        is_secure: bool,
        observer: Observer,
        pause: Callable[[], Awaitable[None]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._remote, self._sessions, self._hosts = remote, sessions, hosts
        self._is_secure, self._observer = is_secure, observer
        self._clock = clock
        self._pause = pause  # between looks for those who watch
        self.watchers = 0  # pages that are kept up to date now
        self._pages: tuple[tuple[str, re.Pattern[str], Page], ...] = tuple(
            (method, re.compile(path), page)
            for method, path, page in (
                ("GET", r"/", self._overview),
                ("GET", r"/(events)", self._overview),
                ("GET", rf"/collections/{_NAME}", self._collection),
                ("GET", rf"/collections/{_NAME}/(events)", self._collection),
                ("GET", rf"/collections/{_NAME}/invitation", self._invitation),
                ("POST", rf"/collections/{_NAME}/go-on", self._go_on),
                ("GET", rf"/studies/{_NAME}", self._study),
                ("GET", rf"/studies/{_NAME}/(events)", self._study),
                ("GET", rf"/(?:collections|studies)/{_NAME}/result", self._result),
                ("GET", rf"/(?:collections|studies)/{_NAME}/result\.(json|csv|parquet)", self._result),
                ("GET", rf"/(?:collections|studies)/{_NAME}/statement", self._statement),
                ("GET", rf"/(?:collections|studies)/{_NAME}/(statement\.json)", self._statement),
                ("GET", r"/budgets", self._budgets),
                ("GET", r"/new", self._form),
                ("POST", r"/new", self._submitted),
                ("POST", r"/plan", self._plan_beside),
                ("GET", r"/login", self._login),
                ("POST", r"/login", self._enter),
                ("POST", r"/logout", self._leave),
            )
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        session = self._sessions.of(_cookie(headers.get("cookie", "")))
        method, path = str(scope["method"]), str(scope["path"])
        try:
            self._require_host(headers)
            response = await self._answered(method, path, session, headers, receive)
        except Exception as error:
            response = self._refused(session, f"{method} {path[:80]}", error)
        await self._send(response, receive, send)

    async def _answered(
        self, method: str, path: str, session: Session, headers: Mapping[str, str], receive: Receive
    ) -> Response:
        if method == "GET" and path in _FILES:
            name, kind = _FILES[path]
            return Response(text_of(name).encode(), kind)
        form: Mapping[str, str] = {}
        if method == "POST":
            self._require_own_page(headers)
            body = await read_body(receive, limit=_FORM_BYTES, silence=_SILENCE, what="a form")
            form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100))
            if not self._sessions.is_word(session, form.get("word", "")):
                raise Refused(
                    "console.form", "this form was not made for your session", hint="load its page again, and send it"
                )
        if not session.is_in and path != "/login":
            if method == "POST":
                raise Refused("console.login", "you are not logged in", hint="log in with the operator's token")
            return _moved("/login", session)
        for known, pattern, page in self._pages:
            if known == method and (found := pattern.fullmatch(path)):
                return await page(Request(method, path, session, form), *found.groups())
        raise Unknown("console.address", "there is no page at this address", hint="begin at the overview")

    # Pages.

    async def _overview(self, request: Request, live: str = "") -> Response:
        async def found() -> Mapping[str, Any]:
            overview = await self._remote.standing(methods.CONSOLE_OVERVIEW)
            return {"overview": overview, "groups": views.grouped(overview)}

        return await self._lively(request, "overview", found, live)

    async def _collection(self, request: Request, name: str, live: str = "") -> Response:
        async def found() -> Mapping[str, Any]:
            return {"one": await self._remote.standing(methods.CONSOLE_COLLECTION, name)}

        return await self._lively(request, "collection", found, live)

    async def _study(self, request: Request, name: str, live: str = "") -> Response:
        async def found() -> Mapping[str, Any]:
            return {"one": await self._remote.standing(methods.CONSOLE_STUDY, name)}

        return await self._lively(request, "study", found, live)

    async def _result(self, _: Request, name: str, form: str = "") -> Response:
        found = await self._remote.ask(methods.CONSOLE_RESULT, name)
        if form == "csv":
            return _download(f"{name}.csv", tabular.of_result(found).to_csv().encode(), "text/csv; charset=utf-8")
        if form == "parquet":
            content = tabular.of_result(found).to_parquet()
            return _download(f"{name}.parquet", content, "application/vnd.apache.parquet")
        if form == "json":
            return _download(f"{name}.json", json.dumps(found, ensure_ascii=False).encode(), "application/json")
        return _sealed(report_page(found))

    async def _statement(self, _: Request, name: str, as_json: str = "") -> Response:
        found = await self._remote.ask(methods.CONSOLE_STATEMENT, name)
        if as_json:
            text = json.dumps(found["statement"], ensure_ascii=False)
            return _download(f"{name}-statement.json", text.encode(), "application/json")
        return _sealed(str(found["page"]))

    async def _invitation(self, _: Request, name: str) -> Response:
        found = await self._remote.ask(methods.CONSOLE_INVITATION, name)
        content = base64.b64decode(found["invitation"])
        return _download(f"{name}.invitation", content, "application/octet-stream")

    async def _budgets(self, request: Request) -> Response:
        books = await self._remote.ask(methods.CONSOLE_BUDGETS)
        numbered = [{**book, "number": number} for number, book in enumerate(books)]
        shown = [(book, views.budget_chart(book, self._clock())) for book in numbered]
        return self._shown(request, "console/budgets.html", title="Budgets", books=shown)

    async def _form(self, request: Request) -> Response:
        return await self._formed(request, forms.DEFAULTS, is_asked=False)

    async def _submitted(self, request: Request) -> Response:
        """Without a script this is also how a plan is asked for."""
        if request.form.get("do") != "create":
            return await self._formed(request, request.form, is_asked=True)
        try:
            made = await self._remote.ask(methods.CONSOLE_CREATE, terms=forms.terms(request.form))
        except PeosError as error:
            return await self._formed(request, request.form, is_asked=False, refused=error)
        return _moved(f"/collections/{made['name']}", request.session)

    async def _plan_beside(self, request: Request) -> Response:
        return Response(rendered_part("console/plan.html", **await self._planned(request.form)).encode())

    async def _go_on(self, request: Request, name: str) -> Response:
        await self._remote.ask(methods.CONSOLE_CREATE, name)
        return _moved(f"/collections/{name}", request.session)

    async def _login(self, request: Request) -> Response:
        if request.session.is_in:
            return _moved("/", request.session)
        return self._shown(request, "console/login.html", title="Log in", is_wrong=False)

    async def _enter(self, request: Request) -> Response:
        entered = self._sessions.enter(request.form.get("token", ""))
        if entered is None:
            return self._shown(request, "console/login.html", status=403, title="Log in", is_wrong=True)
        return _moved("/", entered)

    async def _leave(self, request: Request) -> Response:
        self._sessions.leave(request.session)
        return _moved("/login" if self._sessions.needs_token else "/", request.session)

    # What pages are made of.

    async def _lively(
        self, request: Request, kind: str, found: Callable[[], Awaitable[Mapping[str, Any]]], live: str
    ) -> Response:
        """A page with a part that is kept up to date; or the events that do so."""
        word = self._sessions.word(request.session)
        if live:
            if self.watchers >= _WATCHERS:
                raise Full(
                    "console.watchers", "too many pages are kept up to date", hint="close some, and load it again"
                )

            async def part() -> str:
                return rendered_part(f"console/live_{kind}.html", **await found(), **_SHOWN, word=word)

            return Response(kind="text/event-stream", events=self._events(part))
        shown, watch = await found(), f"{request.path.rstrip('/')}/events"
        title = shown["one"]["name"] if "one" in shown else "Overview"
        return self._shown(request, f"console/{kind}.html", title=title, **shown, watch=watch)

    async def _formed(
        self, request: Request, given: Mapping[str, str], *, is_asked: bool, refused: PeosError | None = None
    ) -> Response:
        planned = await self._planned(given) if is_asked else {"plan": None, "plan_refused": None}
        return self._shown(
            request,
            "console/new.html",
            status=200 if refused is None else _status(refused),
            title="A new collection",
            groups=forms.GROUPS,
            given=given,
            refused=refused,
            **planned,
        )

    async def _planned(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The plan of a form, or its refusal, as `plan.html` shows them."""
        try:
            plan = await self._remote.ask(methods.CONSOLE_PLAN, terms=forms.terms(given))
        except PeosError as error:
            return {"plan": None, "plan_refused": error}
        return {"plan": plan, "plan_refused": None}

    def _shown(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        text = rendered_part(
            template,
            **values,
            **_SHOWN,
            path=request.path,
            word=self._sessions.word(request.session),
            is_in=request.session.is_in,
            needs_token=self._sessions.needs_token,
        )
        return Response(text.encode(), status=status, session=request.session)

    async def _events(self, part: Callable[[], Awaitable[str]]) -> AsyncIterator[bytes]:
        """The live part of a page, whenever it has changed; a comment otherwise, so that an end is noticed."""
        self.watchers += 1
        last = ""
        try:
            while True:
                try:
                    now = await part()
                except PeosError as error:
                    now = rendered_part("console/refusal.html", refused=error)
                except Exception as error:  # a mistake, which the log says; the page asks again
                    noted(self._observer, "events", error)
                    return
                if now != last:
                    last = now
                    yield "".join(f"data: {line}\n" for line in now.splitlines()).encode() + b"\n"
                else:
                    yield b":\n\n"
                await self._pause()
        finally:
            self.watchers -= 1

    def _refused(self, session: Session, what: str, error: Exception) -> Response:
        public = noted(self._observer, what, error)
        # Here the reader is the analyst, who gets an error of ours whole; of a mistake she learns that there was one.
        said = error
        if not isinstance(said, PeosError):
            said = PeosError("program.mistake", f"the console {public.text}", hint="look at its log")
        status = _status(said)
        request = Request("", "", session, {})
        return self._shown(request, "console/error.html", status=status, title="Not possible", refused=said)

    # Who may ask.

    def _require_host(self, headers: Mapping[str, str]) -> None:
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        if host not in self._hosts:
            raise Refused(
                "console.host",
                "this console is not reached under that name",
                hint=f"use {' or '.join(sorted(self._hosts))}",
            )

    def _require_own_page(self, headers: Mapping[str, str]) -> None:
        """A form of another site is refused, also where its browser would send the cookie."""
        origin, site = headers.get("origin", ""), headers.get("sec-fetch-site", "")
        own = f"{'https' if self._is_secure else 'http'}://{headers.get('host', '')}"
        if (origin and origin != own) or site not in ("", "same-origin", "none"):
            raise Refused("console.origin", "this form comes from another site", hint="use the console's own pages")
        if not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            raise Refused("console.form", "this is no form of the console", hint="load its page again, and send it")

    async def _send(self, response: Response, receive: Receive, send: Send) -> None:
        headers: Headers = [
            (b"content-type", response.kind.encode()),
            (b"content-security-policy", response.policy.encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            *response.headers,
        ]
        if response.session is not None and response.session.fresh:
            kept = f"{COOKIE}={self._sessions.cookie(response.session)}; Path=/; HttpOnly; SameSite=Strict"
            kept += f"; Max-Age={int(LASTS)}" + ("; Secure" if self._is_secure else "")
            headers.append((b"set-cookie", kept.encode()))
        if response.events is not None:
            await respond_on(send, receive, headers, response.events)
        else:
            await respond(send, response.status, response.body, headers)


_SHOWN: Final[Mapping[str, Any]] = {
    "waiting": views.waiting,
    "date": views.date,
    "share": views.share,
    "lasted": views.lasted,
}


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _status(error: PeosError) -> int:
    if isinstance(error, RemoteFault):
        return 502  # the serving process does not answer, or a shuffler
    return 404 if error.id in _MISSING else STATUS_OF[type(error)]


def _moved(where: str, session: Session) -> Response:
    return Response(status=303, headers=((b"location", where.encode()),), session=session)


def _download(name: str, content: bytes, kind: str) -> Response:
    return Response(content, kind, headers=((b"content-disposition", f'attachment; filename="{name}"'.encode()),))


def _sealed(page: str) -> Response:
    """A page that stands by itself, with the policy that it also carries."""
    return Response(page.encode(), policy=_SEALED.format(hash_of(text_of(LOOK))))
