"""What a request carries, read with a limit on its size and its time."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request

UPLOAD = 64 * 2**20
"""Bytes that a file may have."""
MESSAGE = 8 * 2**20
"""Bytes that a message in JSON may have."""
SECONDS = 120.0
"""Seconds that a request may take to arrive."""
LONGEST_NAME = 100
LARGEST_WHOLE = 2**53  # of a script


class Refused(Exception):
    """A request that is not carried out: its status, and a sentence."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


async def read_message(request: Request, limit: int = MESSAGE) -> dict[str, Any]:
    """The JSON object in the body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, f"the body is {kind or 'of no type'!r:.60}; application/json is needed.")
    data = b"".join([part async for part in _parts(request, limit)])
    try:
        message = json.loads(data, parse_constant=_finite, parse_float=_finite, parse_int=_whole)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON.") from None
    if not isinstance(message, dict):
        raise Refused(400, "the body needs to be a JSON object.")
    return message


async def save_upload(request: Request, folder: Path, limit: int = UPLOAD) -> str:
    """Write the body into the folder under the name that the request states; return that name."""
    name = file_name(request.query_params.get("name", ""))
    with open(folder / name, "xb") as file:
        async for part in _parts(request, limit):
            file.write(part)
    return name


def file_name(name: str) -> str:
    """A name for a file, made of the last part of what the page calls it."""
    name = unquote(name).replace("\\", "/").rpartition("/")[2]
    name = "".join(c if c.isalnum() or c in "._- " else "_" for c in name).strip(" .-")
    stem, dot, suffix = name.rpartition(".")
    if dot:
        return f"{stem[:LONGEST_NAME]}.{suffix[:10]}"
    return name[:LONGEST_NAME] or "file"


async def _parts(request: Request, limit: int) -> AsyncIterator[bytes]:
    """The body in parts, as long as it keeps to the limit."""
    told = request.headers.get("content-length", "")
    if told.isascii() and told.isdigit() and (len(told) > 15 or int(told) > limit):
        raise Refused(413, _too_large(limit))
    size, loop = 0, asyncio.get_running_loop()
    end = loop.time() + SECONDS
    parts = request.stream().__aiter__()
    while True:
        try:
            part = await asyncio.wait_for(anext(parts), end - loop.time())
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refused(408, f"the body did not arrive in {SECONDS:g} seconds.") from None
        size += len(part)
        if size > limit:
            raise Refused(413, _too_large(limit))
        yield part


def _too_large(limit: int) -> str:
    return f"the body is larger than {limit / 2**20:g} MiB, which is the limit."


def _whole(text: str) -> int:
    value = int(text)
    if abs(value) > LARGEST_WHOLE:
        raise ValueError(text)
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
