"""What every request passes first: it must come from the page of this launch, on this machine.

A request needs the Host of this server, no foreign Origin, and the token of this launch in a cookie
or in the header `X-Pellucid-Token`. What is refused is answered in a sentence and logged in a line.
"""

import logging
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("pellucid.playground")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""The Content-Security-Policy: everything from this server, WebAssembly, and nothing inline."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cache-control": "no-store",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
SAFE_METHODS = ("GET", "HEAD")
LONGEST_TOLD = 160


def log_refusal(why: str, scope: Scope) -> None:
    """One line about a refused request, without anything that could steer a terminal."""
    path = scope.get("path", "")
    line = f"refused: {why} ({scope.get('method', '?')} {path})"
    LOG.warning("".join(c if c.isprintable() else "?" for c in line)[:LONGEST_TOLD])


class Guard:
    """Middleware around the whole application; it adds the security headers to every answer."""

    def __init__(self, app: ASGIApp, port: int, token: str):
        self.app, self.port, self.token = app, port, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"pellucid-{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request pass, or answer it here."""
        if scope["type"] != "http":  # no lifespan and no WebSocket is served
            return
        guarded = _Answer(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            log_refusal(refusal, scope)
            await _refused(scope, refusal)(scope, receive, guarded)
        elif self._is_entrance(scope):
            await self._welcome()(scope, receive, guarded)
        else:
            await self._pass_on(scope, receive, guarded)

    async def _pass_on(self, scope: Scope, receive: Receive, guarded: "_Answer") -> None:
        try:
            await self.app(scope, receive, guarded)
        except Exception as error:
            LOG.exception("a bug: %s (%s)", type(error).__name__, scope.get("path", ""))
            if not guarded.begun:
                answer = JSONResponse({"error": "a bug in Pellucid; its log has the details."}, 500)
                await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> str | None:
        """Why the request is refused; None where it is not."""
        headers = _headers(scope)
        if headers.get("host", "") not in self.hosts:
            return f"foreign host {headers.get('host', 'missing')!r}"
        origin, safe = headers.get("origin"), scope["method"] in SAFE_METHODS
        if origin is None and not safe and "x-pellucid-token" not in headers:
            return "no origin"  # a browser states it; a program gives the token in the header
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return f"foreign origin {origin!r}"
        site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        if site not in (None, "same-origin", "none") and mode != "navigate":
            return f"a request from another site ({site})"
        if not self._has_token(headers) and not self._is_entrance(scope):
            return "no token, or a wrong one"
        return None

    def _has_token(self, headers: dict[str, str]) -> bool:
        given = headers.get("x-pellucid-token")
        if given is None:
            try:
                morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
            except CookieError:
                return False
            given = "" if morsel is None else morsel.value
        return _equal(given, self.token)

    def _is_entrance(self, scope: Scope) -> bool:
        """Whether that is the address that the browser is opened with."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        return _equal(given[0], self.token)

    def _welcome(self) -> Response:
        """Put the token into a cookie, and go on to the page without it in the address."""
        answer = Response(status_code=303, headers={"location": "/"})
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="lax", path="/")
        return answer


class _Answer:
    """`send` with the security headers."""

    def __init__(self, send: Send):
        self.send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message = {**message, "headers": [*message.get("headers", []), *_RAW_HEADERS]}
        await self.send(message)


def _refused(scope: Scope, why: str) -> Response:
    if scope["path"].startswith("/api/"):
        return JSONResponse({"error": f"refused: {why}."}, 403)
    return PlainTextResponse(
        "This page opens with the address that `pellucid playground` prints, and with no other.\n",
        403,
    )


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _equal(a: str, b: str) -> bool:
    return secrets.compare_digest(a.encode("utf-8", "replace"), b.encode())


def token_of_launch() -> str:
    """A new secret for one launch."""
    return secrets.token_urlsafe(24)
