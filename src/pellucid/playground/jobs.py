"""Jobs in processes of their own: so many at once, so many that wait, the others refused."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

LONGEST_LINE = 256 * 2**20  # bytes
COMMAND = (sys.executable, "-P", "-m", f"{__package__}.worker")


class TooBusy(Exception):
    """No more jobs can wait."""


class Jobs:
    """A line of jobs: `running` of them run, `waiting` more wait in the order of their coming.

    A job that takes more than `seconds` is ended. All of them share one event loop.
    """

    def __init__(self, running: int, waiting: int, seconds: float):
        self.running, self.waiting, self.seconds = running, waiting, seconds
        self._line: list[asyncio.Event] = []  # one for each job, set when its place has changed
        self._processes: set[asyncio.subprocess.Process] = set()
        self._closed = False

    async def lines(
        self, request: dict[str, Any], folder: Path | None = None
    ) -> AsyncGenerator[dict[str, Any]]:
        """What a job tells: its place in the line, its progress, last its result or error.

        `TooBusy` is raised where no more may wait. Whoever stops listening ends the job.
        """
        if self._closed or len(self._line) >= self.running + self.waiting:
            raise TooBusy
        moved = asyncio.Event()
        self._line.append(moved)
        try:
            while (place := self._line.index(moved)) >= self.running:
                yield {"queued": place - self.running + 1}
                moved.clear()
                await moved.wait()
            async for line in self._run(request, folder):
                yield line
        finally:
            self._line.remove(moved)
            for other in self._line:
                other.set()

    async def result(self, request: dict[str, Any], folder: Path | None = None) -> dict[str, Any]:
        """The last line of a job."""
        return [line async for line in self.lines(request, folder)][-1]

    async def _run(
        self, request: dict[str, Any], folder: Path | None
    ) -> AsyncGenerator[dict[str, Any]]:
        if self._closed:
            yield {"error": "the server is being stopped."}
            return
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=folder,
            limit=LONGEST_LINE,
            start_new_session=True,  # a Ctrl-C is for the server, which then ends this one
        )
        self._processes.add(process)
        try:
            async for line in _spoken(process, request, self.seconds):
                yield line
        finally:
            _end(process)
            self._processes.discard(process)
            with suppress(ProcessLookupError):
                await process.wait()

    def close(self) -> None:
        """End every job, and take no more."""
        self._closed = True
        for process in self._processes:
            _end(process)


async def _spoken(
    process: asyncio.subprocess.Process, request: dict[str, Any], seconds: float
) -> AsyncGenerator[dict[str, Any]]:
    """Give the process its request, and yield its lines up to the last one."""
    assert process.stdin is not None
    assert process.stdout is not None
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    with suppress(ConnectionError):  # it has ended already; the lines below say so
        process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
        await process.stdin.drain()
    while True:
        try:
            text = await asyncio.wait_for(process.stdout.readline(), end - clock())
        except TimeoutError:
            yield {"error": f"this took more than {seconds:g} seconds and was ended."}
            return
        try:
            line = json.loads(text)
        except ValueError:  # nothing, or a line that was cut short
            break
        yield line
        if "result" in line or "error" in line:
            return
    code = await process.wait()
    why = f"by signal {-code}" if code < 0 else f"with code {code}"
    yield {
        "error": f"the process of this job ended {why} before it was done, perhaps for want of "
        "memory; take fewer rows or a smaller network."
    }


def _end(process: asyncio.subprocess.Process) -> None:
    """End the process with everything that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
