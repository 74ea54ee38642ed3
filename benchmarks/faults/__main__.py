"""`python -m faults`: run a tool on the benchmark, score it, print and write the tables.

`pellucid bench-faults` calls this with the same options.
"""

import argparse
import json
import sys
from pathlib import Path

from .case import Case
from .catalogue import PARTS, builders, ids, source_of, truth_of
from .runner import Result, run
from .scoring import Scored, score, summary
from .tables import markdown
from .tool import OWN, NotATool, load
from .verify import verifier

MISTAKE = 2


def parser() -> argparse.ArgumentParser:
    """The options."""
    p = argparse.ArgumentParser(
        prog="pellucid bench-faults", description="Run a tool on networks that fail, and score it."
    )
    p.add_argument(
        "--tool", default="pellucid", help=f"module:function, or one of {', '.join(OWN)}"
    )
    p.add_argument("--part", choices=[*PARTS, "all"], default="tuning")
    p.add_argument("--source", choices=["rebuilt", "healthy", "planted", "all"], default="all")
    p.add_argument("--case", action="append", default=[], help="only ids that contain this")
    p.add_argument("--budget", type=float, default=5.0, help="seconds that the tool may take")
    p.add_argument("--limit", type=float, help="seconds after which a case is ended")
    p.add_argument("--jobs", type=int, default=1, help="cases at once")
    p.add_argument("--threads", type=int, default=1, help="threads of each case")
    p.add_argument("--every", type=int, default=1, help="take every so many-th case only")
    p.add_argument("--json", type=Path, help="file for everything that was said and scored")
    p.add_argument("--write", action="store_true", help="put the tables into RESULTS.md")
    p.add_argument("--list", action="store_true", help="print the ids and end")
    return p


def chosen(options: argparse.Namespace) -> list[str]:
    """Ids that the options ask for."""
    names = ids(options.part, options.source)
    if options.case:
        names = [name for name in names if any(word in name for word in options.case)]
    return names[:: options.every]


def main(arguments: list[str] | None = None) -> int:
    """Run, score, print; 0 unless the options cannot be followed."""
    options = parser().parse_args(arguments)
    names = chosen(options)
    if options.list:
        print("\n".join(names))
        return 0
    if not names or options.budget <= 0 or min(options.jobs, options.threads, options.every) < 1:
        print("bench-faults: no case is left, or a number is not above 0.", file=sys.stderr)
        return MISTAKE
    try:
        load(options.tool)
    except NotATool as error:
        print(f"bench-faults: {error}", file=sys.stderr)
        return MISTAKE
    built: dict[str, Case] = {name: build() for name, build in builders().items() if name in names}
    truths = {name: truth_of(case) for name, case in built.items()}

    def told(result: Result) -> None:
        said = result.answer.get("kinds") or [result.outcome]
        mark = "ok " if said[0] in truths[result.id] else "   "
        line = f"{mark}{result.id:44s} {said[0]:24s} {result.seconds:6.1f} s"
        print(line, file=sys.stderr, flush=True)

    how = options.budget, options.jobs, options.threads, options.limit
    results = run(names, options.tool, *how, told)
    scored = score(results, lambda name: (truths[name], built[name].certificate), verifier())
    text = markdown(scored, options)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(record(options, results, scored), indent=1) + "\n")
    if options.write:
        write(options, text)
    return 0


def record(
    options: argparse.Namespace, results: list[Result], scored: list[Scored]
) -> dict[str, object]:
    """Everything, as plain values."""
    cases = [
        {
            "id": s.id,
            "source": source_of(s.id),
            "truth": s.truth,
            "certificate": s.certificate,
            "right": s.right,
            "alarm": s.alarm,
            "verified": s.verified,
            "outcome": s.outcome,
            "seconds": s.seconds,
            "error": s.error,
            "answer": {k: v for k, v in r.answer.items() if k not in ("table", "certificate")},
        }
        for s, r in zip(scored, results, strict=True)
    ]
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items()}
    return {"schema": 1, "options": settings, "summary": summary(scored), "cases": cases}


def write(options: argparse.Namespace, text: str) -> None:
    """One section of RESULTS.md for each tool, part, source and budget."""
    from results import machine, write_section

    source = "" if options.source == "all" else f" {options.source},"
    title = f"Faults, {options.tool}, {options.part},{source} {options.budget:g} s"
    write_section(title, f"{machine()}; `pellucid bench-faults`\n\n{text}")


if __name__ == "__main__":
    sys.exit(main())
