"""Debian's Chromium through Playwright, and the two places where the page stands for its tests."""

import http.server
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
HERE = ("127.0.0.1", None)  # None: data: and blob:, which are no requests


class _Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        ".json": "application/json",
    }

    def log_message(self, *_):
        pass


@contextmanager
def static_server(root: Path):
    """A plain web server of files, as a teacher may have one; yields its address."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(_Quiet, directory=str(root))
    ) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chromium():
    """A browser with a fresh profile that can reach this machine alone."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One visitor: a page in a context of its own, and everything that it asked for or lamented."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(
            **({"viewport": {"width": 1280, "height": 900}} | options)
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.requests: list[str] = []
        self.first: list[str] = []
        self.complaints: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._console)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def strangers(self) -> list[str]:
        """Requests that would have left this machine."""
        return [url for url in self.requests if urlsplit(url).hostname not in HERE]

    def close(self):
        self.context.close()
