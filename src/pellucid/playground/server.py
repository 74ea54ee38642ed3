"""The page served on this machine alone, with what needs Python: verdicts, files, conversion."""

import asyncio
import gzip
import json
import logging
import socket
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .._errors import InvalidInput
from .bodies import MESSAGE, UPLOAD, Refused, read_message, save_upload
from .guard import Guard, log_refusal, token_of_launch
from .jobs import Jobs, TooBusy
from .site import FIRST, media_type, site
from .start import start_document
from .worker import FORMATS

ADDRESS = "127.0.0.1"
VERDICTS = {"running": 1, "waiting": 3, "seconds": 900.0}
FILES = {"running": 2, "waiting": 16, "seconds": 120.0}
CONNECTIONS = 100
LARGEST_PORT = 65535
NEEDS = {"onnx": "onnx", "pt": "torch"}


class Playground:
    """The page of one launch, on a free port of this machine; use it in a `with` block.

    `url` is the address to open: it holds the token of the launch, without which nothing is
    answered. Only 127.0.0.1 is listened on.

    Parameters
    ----------
    start
        What the page opens with, as `start_document` makes it.
    port
        The port; 0 takes a free one. `InvalidInput` is raised where it is taken.
    lessons
        More lessons: names such as "rings.json" and the content of the files.
    """

    def __init__(
        self,
        start: Mapping[str, Any] | None = None,
        *,
        port: int = 0,
        lessons: Mapping[str, bytes] | None = None,
    ):
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self.token = token_of_launch()
        self.verdicts, self.files = Jobs(**VERDICTS), Jobs(**FILES)
        self._site = site(lessons=lessons, server=True)
        self._zipped: dict[str, bytes] = {}
        self._start = dict(start or start_document()) | {"server": abilities()}
        guarded = Guard(self._application(), self.port, self.token)
        config = uvicorn.Config(
            guarded,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=3,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="pellucid playground", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    # ---- its life

    @property
    def url(self) -> str:
        """The address that opens the page."""
        return f"http://{ADDRESS}:{self.port}/?token={self.token}"

    def __enter__(self) -> "Playground":
        """Start to serve; returns when the first request can be answered."""
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        """End every job and stop."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._close_jobs)
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    def wait(self) -> None:
        """Serve until this is interrupted (Ctrl-C)."""
        while self._thread.is_alive():
            self._thread.join(timeout=0.5)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])

    def _close_jobs(self) -> None:
        self.verdicts.close()
        self.files.close()

    # ---- what it answers

    def _application(self) -> Starlette:
        routes = [
            Route("/api/start", self._send_start, methods=["GET"]),
            Route("/api/network", _answering(self._network), methods=["POST"]),
            Route("/api/table", _answering(self._table), methods=["POST"]),
            Route("/api/save", _answering(self._save), methods=["POST"]),
            Route("/api/verdict", _answering(self._verdict), methods=["POST"]),
            Route("/{path:path}", self._file, methods=["GET"]),
        ]
        return Starlette(routes=routes)

    async def _send_start(self, request: Request) -> Response:
        return JSONResponse(self._start)

    async def _file(self, request: Request) -> Response:
        path = request.path_params["path"] or FIRST
        content = self._site.get(path)
        if content is None:
            return JSONResponse({"error": "there is no such file."}, 404)
        headers = {"vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", "") and not path.endswith(".gz"):
            headers["content-encoding"] = "gzip"
            if path not in self._zipped:
                self._zipped[path] = gzip.compress(content, 6, mtime=0)
            content = self._zipped[path]
        return Response(content, media_type=media_type(path), headers=headers)

    async def _network(self, request: Request) -> Response:
        query = request.query_params
        asked = {key: query[key] for key in ("activation", "network") if key in query}
        if "network" in asked:
            asked["name"] = asked.pop("network")
        return JSONResponse(await self._read(request, {"job": "network"} | asked))

    async def _table(self, request: Request) -> Response:
        asked: dict[str, Any] = {"job": "table", "drop": request.query_params.getlist("drop")}
        if "target" in request.query_params:
            asked["target"] = request.query_params["target"]
        return JSONResponse(await self._read(request, asked))

    async def _read(self, request: Request, asked: dict[str, Any]) -> dict[str, Any]:
        """Do a job on the file that was uploaded."""
        with tempfile.TemporaryDirectory(prefix="pellucid-") as name:
            folder = Path(name)
            asked["file"] = await save_upload(request, folder)
            return _result(await self.files.result(asked, folder))

    async def _save(self, request: Request) -> Response:
        from base64 import b64decode

        suffix = request.query_params.get("format", "")
        asked = {"job": "save", "format": suffix, "network": await read_message(request)}
        found = _result(await self.files.result(asked))
        return Response(b64decode(found["base64"]), media_type="application/octet-stream")

    async def _verdict(self, request: Request) -> Response:
        message = await read_message(request)
        asked = {
            key: message[key] for key in ("table", "recipe", "seed", "budget") if key in message
        }
        lines = self.verdicts.lines({"job": "verdict"} | asked)
        first = await anext(lines)  # TooBusy is told in the status
        return _Lines(first, lines)


class _Lines(Response):
    """Lines of JSON as they come; the job ends when the client goes."""

    def __init__(self, first: dict[str, Any], rest: AsyncGenerator[dict[str, Any]]):
        super().__init__(media_type="application/x-ndjson")
        del self.headers["content-length"]
        self.first, self.rest = first, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tasks = [asyncio.create_task(self._speak(send)), asyncio.create_task(_gone(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.rest.aclose()

    async def _speak(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._say(self.first, send)
        async for line in self.rest:
            await self._say(line, send)
        await send({"type": "http.response.body", "body": b""})

    async def _say(self, line: dict[str, Any], send: Send) -> None:
        line = line.get("result", line)
        body = json.dumps(line, allow_nan=False).encode() + b"\n"
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _answering(endpoint: Any) -> Any:
    """The endpoint, with what it refuses as a status, a sentence and a line in the log."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            status, sentence = refused.status, refused.sentence
        except TooBusy:
            status, sentence = 429, "too many jobs wait already; wait for one to end."
        except ClientDisconnect:
            return Response(status_code=400)
        log_refusal(sentence, request.scope)
        headers = {"connection": "close"} if status == 413 else None
        return JSONResponse({"error": sentence}, status, headers)

    return answer


def _result(line: dict[str, Any]) -> dict[str, Any]:
    """The result in the last line of a job."""
    if "result" not in line:
        raise Refused(400, str(line.get("error", "the job gave no answer.")))
    return line["result"]


def abilities() -> dict[str, Any]:
    """What this server can do for the page, and its limits."""
    save = [name for name in FORMATS if name not in NEEDS or find_spec(NEEDS[name]) is not None]
    return {"verdict": True, "save": save, "upload_bytes": UPLOAD, "message_bytes": MESSAGE}


def _listening(port: int) -> socket.socket:
    """A socket on this machine's own address."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= LARGEST_PORT:
        raise InvalidInput(f"port is {port!r:.40}; it needs a whole number up to {LARGEST_PORT}.")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise InvalidInput(
            f"port is {port}, and it cannot be used ({reason}); choose another, or leave it out "
            "for a free one."
        ) from None
    return listening


@contextmanager
def logging_in_lines(write: Any):
    """Give what the server logs, a line each, to `write` for the time of the block."""
    handler = _LineHandler(write)
    loggers = [logging.getLogger(name) for name in ("pellucid.playground", "uvicorn.error")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _LineHandler(logging.Handler):
    def __init__(self, write: Any):
        super().__init__()
        self.write = write

    def emit(self, record: logging.LogRecord) -> None:
        self.write(self.format(record))
