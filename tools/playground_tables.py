"""Writes static/engine/tables.json: Pellucid's tables, for the menus and checks of the playground.

A test fails where the file is not what this writes. `--check` compares and writes nothing.
"""

import json
import sys
from dataclasses import fields
from pathlib import Path

from pellucid.likelihoods import LIKELIHOODS
from pellucid.network import ACTIVATIONS, SCHEMES
from pellucid.regions.bounds import BOUNDS
from pellucid.training import OPTIMIZERS, SCHEDULES, Settings

TARGET = Path(__file__).parents[1] / "src/pellucid/playground/static/engine/tables.json"

#: settings that every optimizer reads
_RATES = ("learning_rate", "weight_decay")


def tables() -> dict:
    """The tables as plain data; defaults are those of `pellucid.train`."""
    usual = {f.name: f.default for f in fields(Settings) if f.name != "hidden"}

    def defaults(names: tuple[str, ...]) -> dict:
        return {name: usual[name] for name in names}

    return {
        "activations": [
            {
                "name": a.name,
                "formula": a.formula,
                "source": a.source,
                "parameter_names": list(a.parameter_names),
                "defaults": list(a.defaults),
                "is_piecewise_linear": a.is_piecewise_linear,
            }
            for a in ACTIVATIONS.values()
        ],
        "likelihoods": [
            {
                "name": name,
                "about": of.about,
                "targets": of.target_kind,
                "outputs_per_target": of.outputs_per_target,
                "output_names": list(of.output_names),
                "parameter_names": list(of.parameter_names),
                "defaults": list(of.parameters),
            }
            for name, of in LIKELIHOODS.items()
        ],
        "optimizers": [
            {
                "name": o.name,
                "source": o.source,
                "reads": list(o.reads),
                "defaults": defaults((*_RATES, *o.reads)),
                "coupled_decay": o.coupled_decay,
            }
            for o in OPTIMIZERS.values()
        ],
        "schedules": [
            {
                "name": s.name,
                "source": s.source,
                "reads": list(s.reads),
                "defaults": defaults(("warmup", *s.reads)),
            }
            for s in SCHEDULES.values()
        ],
        "schemes": [
            {"name": s.name, "formula": s.formula, "source": s.source} for s in SCHEMES.values()
        ],
        "bounds": [
            {"name": b.name, "kind": b.kind, "formula": b.formula, "source": b.source}
            for b in BOUNDS.values()
        ],
        "settings": defaults(("dropout", "l1", "clip_norm", "label_smoothing", "batch_size")),
    }


def main() -> int:
    text = json.dumps(tables(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
