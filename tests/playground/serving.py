"""A playground server in a process of its own, and plain requests to it."""

import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PROGRAM = [sys.executable, "-c", "from pellucid.cli import main; main()"]


@dataclass
class Served:
    """A running server: where it is, its token, its process, and the file that it logs to."""

    port: int
    token: str
    process: subprocess.Popen
    log_file: Path
    answers: list = field(default_factory=list)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method, path, body=None, headers=None, token=True):
        """The status, the headers and the body of one answer."""
        given = {"x-pellucid-token": self.token} if token else {}
        connection = self.connection()
        try:
            connection.request(method, path, body, given | (headers or {}))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def post(self, path, message, **more):
        """The status and the JSON of the answer to a message."""
        headers = {"content-type": "application/json"}
        status, _, body = self.request("POST", path, json.dumps(message), headers, **more)
        return status, json.loads(body)

    def log(self) -> str:
        return self.log_file.read_text()

    def is_alive(self) -> bool:
        return self.process.poll() is None and self.request("GET", "/")[0] == 200

    # ---- what it holds

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith(name)).split()[1])

    def threads(self) -> int:
        return self._status("Threads:")

    def kilobytes(self) -> int:
        return self._status("VmRSS:")

    def children(self) -> list[int]:
        tasks = Path(f"/proc/{self.process.pid}/task")
        found = " ".join((task / "children").read_text() for task in tasks.iterdir())
        return [int(pid) for pid in found.split()]


@contextmanager
def served(folder: Path, *arguments: str):
    """`pellucid playground --no-browser` until the block ends."""
    log = folder / "server.log"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with log.open("w") as file:
        process = subprocess.Popen(
            [*PROGRAM, "playground", "--no-browser", *arguments],
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            env=environment,
        )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        assert address.port, log.read_text()
        yield Served(address.port, parse_qs(address.query)["token"][0], process, log)
    finally:
        process.terminate()
        process.communicate()
