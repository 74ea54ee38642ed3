"""The playground's page in Chromium: how fast it trains, draws and finds regions, and its weight.

    python benchmarks/playground.py [--seconds 5] [--quick] [--write]

Debian's Chromium, headless, without a GPU, on the exported folder. Updates and frames are counted
over the same seconds, after two seconds of warming up: the engine trains flat out in its worker
while the page draws. Bytes are those of all responses; `gzip` is what the local server sends.
The exit status is 1 where a target is missed. `--write` puts the table into RESULTS.md.
"""

import argparse
import gzip
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import versions
from results import load, machine, write_section

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "playground"))
from browsing import Visit, chromium, static_server  # pyright: ignore  # the tests' own browser

READY = "html[data-ready]"
WARMING = 2000  # milliseconds
COUNT = """async (milliseconds) => {
  const app = window.pellucid;
  let frames = 0, regions = 0, running = true;
  const draw = () => { frames += 1; if (running) requestAnimationFrame(draw); };
  const stop = app.events.on("regions", () => { regions += 1; });
  const first = app.snapshot().step, start = performance.now();
  requestAnimationFrame(draw);
  await new Promise((done) => setTimeout(done, milliseconds));
  running = false;
  stop();
  const seconds = (performance.now() - start) / 1000;
  return {
    updates: (app.snapshot().step - first) / seconds,
    frames: frames / seconds,
    regions: regions / seconds,
  };
}"""


@dataclass(frozen=True)
class Target:
    """A number, what was asked for, and whether more is better."""

    what: str
    value: float
    unit: str
    asked: float | None = None
    at_least: bool = True

    @property
    def is_met(self) -> bool | None:
        if self.asked is None:
            return None
        return self.value >= self.asked if self.at_least else self.value <= self.asked

    def line(self) -> str:
        asked = "" if self.asked is None else f"at {'least' if self.at_least else 'most'} "
        asked += "" if self.asked is None else f"{self.asked:,g} {self.unit}"
        met = {None: "", True: "yes", False: "**no**"}[self.is_met]
        return f"| {self.what} | {self.value:,.4g} {self.unit} | {asked} | {met} |"


@contextmanager
def page_of(url: str, browser: Any) -> Iterator[Visit]:
    """A visitor whose page is at work."""
    visit = Visit(browser)
    try:
        visit.page.goto(url)
        visit.page.wait_for_selector(READY)
        visit.first = list(visit.requests)  # later ones keep the page for a visit without network
        yield visit
    finally:
        visit.close()


def pace(url: str, browser: Any, state: dict[str, Any], seconds: float) -> dict[str, float]:
    """Updates, frames and region counts a second while it trains flat out."""
    with page_of(url, browser) as visit:
        page = visit.page
        page.evaluate(
            "(state) => window.pellucid.apply({...state, view: {...window.pellucid.state().view, "
            'speed: "full"}})',
            state,
        )
        page.evaluate("() => window.pellucid.play()")
        page.wait_for_timeout(WARMING)
        return page.evaluate(COUNT, seconds * 1000)


def first_visit(url: str, browser: Any) -> dict[str, float]:
    """First paint, requests and bytes of one visit with an empty cache."""
    with page_of(url, browser) as visit:
        found = visit.page.evaluate(
            """() => {
              const all = [...performance.getEntriesByType("navigation"),
                           ...performance.getEntriesByType("resource")];
              const paint = performance.getEntriesByName("first-contentful-paint")[0];
              const bytes = all.reduce((sum, entry) => sum + entry.encodedBodySize, 0);
              return { paint: paint.startTime, bytes };
            }"""
        )
        ready = visit.page.evaluate("() => performance.now()")
        paths = [r for r in visit.first if r.startswith("http")]
        return found | {
            "ready": ready,
            "requests": len(paths),
            "strangers": len(visit.strangers()),
        }


def zipped(folder: Path, url: str, requests: list[str]) -> int:
    """The bytes of those files as a server sends them that compresses."""
    total = 0
    for request in {r.partition("?")[0] for r in requests if r.startswith(url)}:
        file = folder / (request.removeprefix(url) or "index.html")
        total += len(gzip.compress(file.read_bytes(), 6)) if file.is_file() else 0
    return total


def layers(*units: int) -> list[dict[str, Any]]:
    """Hidden layers of ReLU units."""
    return [{"units": n, "activation": {"name": "relu", "parameters": []}} for n in units]


def measure(seconds: float, visits: int) -> list[Target]:
    """Every number, on one exported folder."""
    from pellucid.playground import export_page

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "page"
        export_page(folder)
        with static_server(Path(name)) as address, chromium() as browser:
            url = f"{address}/page/"
            first = [first_visit(url, browser) for _ in range(visits)]
            usual = pace(url, browser, {}, seconds)
            deep = pace(url, browser, {"hidden": layers(64, 64, 64)}, seconds)
            with page_of(url, browser) as visit:
                compressed = zipped(folder, url, visit.first)
    middle = {key: statistics.median(v[key] for v in first) for key in first[0]}
    return [
        Target("updates, usual page (spirals, 2-8-8-1)", usual["updates"], "/ s", 200_000),
        Target("frames meanwhile", usual["frames"], "/ s", 30),
        Target("regions of 2-64-64-64-1 found", deep["regions"], "/ s", 10),
        Target("frames meanwhile", deep["frames"], "/ s", 30),
        Target("first paint", middle["paint"] / 1000, "s", 1, at_least=False),
        Target("at work after", middle["ready"] / 1000, "s"),
        Target("page with engine, gzip", compressed / 1000, "KB", 400, at_least=False),
        Target("page with engine, not compressed", middle["bytes"] / 1000, "KB"),
        Target("requests", middle["requests"], ""),
        Target("requests that leave the machine", middle["strangers"], "", 0, at_least=False),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of each count")
    parser.add_argument(
        "--quick", action="store_true", help="count for half a second; judge nothing"
    )
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    options = parser.parse_args()
    before = load()
    targets = measure(0.5 if options.quick else options.seconds, 1 if options.quick else 5)
    text = "\n".join(
        (
            f"{machine()}, {versions('playwright')}; load {before} before",
            "",
            "| work | measured | asked for | met |",
            "|---|---|---|---|",
            *(target.line() for target in targets),
        )
    )
    print(text)
    if options.write:
        write_section("Playground (`python benchmarks/playground.py --write`)", text)
    if not options.quick and any(target.is_met is False for target in targets):
        sys.exit(1)


if __name__ == "__main__":
    main()
