"""The file of a study: TOML, checked to the last key before anything is trained."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from .._errors import InvalidFile, InvalidInput
from .settings import Settings, settings_grid

LARGEST_FILE = 2**20
MOST_NETWORKS = 100_000
MOST_SEED = 2**31 - 1

EXAMPLE = """\
# A study: every combination of the settings is trained on the same rows.
# Paths are relative to the folder of this file.

[data]
dataset = "penguins"       # a data set that `pellucid datasets` lists, or
# path = "table.csv"       # a CSV or Parquet file, with
# target = "species"       # the column to predict
# task = "auto"            # or "classification", "regression"
# drop = ["year"]          # columns to leave out
standardize = true         # columns (and a numeric target) to mean 0 and deviation 1
held_out = 0.25            # share of the rows that no network is trained on; 0 for none
seed = 0                   # of the split
# likelihood = "ordinal"   # what the outputs say of the target, as `pellucid train --likelihood`

[settings]                 # one value, or a list of values; the first list is the outermost
hidden = [[], [8], [16, 16]]   # always a list of lists; [] is a linear model
learning_rate = [0.003, 0.03]
seed = [0, 1, 2]
optimizer = "adam"
steps = 500

[output]
table = "study.parquet"        # one row for each network
checkpoint = "study.checkpoint"  # folder that the sweep goes on from when it is called again
save_best = "best.pellucid"    # optional: the network with the lowest held-out loss
"""

_TEXT, _SWITCH, _SHARE, _WHOLE, _TEXTS = (
    "a text in quotes",
    "true or false",
    "a number from 0 to below 1",
    f"a whole number from 0 to {MOST_SEED}",
    "a list of texts",
)
_DATA = {
    "path": _TEXT,
    "dataset": _TEXT,
    "target": _TEXT,
    "task": _TEXT,
    "drop": _TEXTS,
    "standardize": _SWITCH,
    "held_out": _SHARE,
    "seed": _WHOLE,
    "likelihood": _TEXT,
}
_OUTPUT = {"table": _TEXT, "checkpoint": _TEXT, "save_best": _TEXT}
_HINTS = get_type_hints(Settings)


@dataclass(frozen=True)
class Study:
    """What a study file asks for. `settings` is the grid in full, `varied` names what differs."""

    file: Path
    data: Mapping[str, Any]
    settings: tuple[Settings, ...]
    varied: tuple[str, ...]
    table: Path | None
    checkpoint: Path | None
    save_best: Path | None

    @property
    def data_path(self) -> Path | None:
        """The file that the rows are in, if they are not those of a listed data set."""
        path = self.data.get("path")
        return None if path is None else self.file.parent / path


def read_study(file: Path) -> Study:
    """Read a study file; InvalidInput or InvalidFile names the key that is wrong."""
    content = _parsed(file)
    for name in content:
        if name not in ("data", "settings", "output"):
            raise InvalidInput(
                f"{file}: there is no table [{name!s:.40}]; the tables are [data], [settings] and "
                "[output]."
            )
    parts = [content.get(name, {}) for name in ("data", "settings", "output")]
    if not all(isinstance(part, dict) for part in parts):
        raise InvalidInput(f"{file}: data, settings and output are tables, such as [data].")
    data, settings, output = parts
    _check_values(file, "data", data, _DATA)
    _check_values(file, "output", output, _OUTPUT)
    _check_source(file, data)
    grid, varied = _grid(file, settings)
    places = {name: file.parent / path for name, path in output.items()}
    return Study(
        file,
        data,
        tuple(grid),
        varied,
        places.get("table"),
        places.get("checkpoint"),
        places.get("save_best"),
    )


def _parsed(file: Path) -> dict[str, Any]:
    try:
        with open(file, "rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot read the study {file}: {reason}.") from None
    except ValueError:  # a name with a null character
        raise InvalidFile(f"{str(file)!r:.80} is no path of a study.") from None
    if len(content) > LARGEST_FILE:
        raise InvalidFile(f"{file} is larger than a megabyte; a study file is a page of text.")
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise InvalidFile(f"{file} is no text in UTF-8; a study file is TOML.") from None
    except RecursionError:
        raise InvalidFile(f"{file} is no study: its lists are nested too deeply.") from None
    except ValueError as error:  # of TOML, or a number of too many digits
        reason = str(error)[:1].lower() + str(error)[1:200]
        raise InvalidFile(f"{file} is no valid TOML: {reason.rstrip('.')}.") from None


def _check_values(file: Path, part: str, values: dict[str, Any], known: dict[str, str]) -> None:
    for name, value in values.items():
        if name not in known:
            raise InvalidInput(
                f"{file}: there is no {part}.{name!s:.40}; [{part}] takes {', '.join(known)}."
            )
        if not _is_a(value, known[name]):
            raise InvalidInput(f"{file}: {part}.{name} is {value!r:.60}; it needs {known[name]}.")


def _is_a(value: Any, what: str) -> bool:
    if what == _TEXT:
        return isinstance(value, str) and value != ""
    if what == _TEXTS:
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    if what == _SWITCH:
        return isinstance(value, bool)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if what == _SHARE:
        return number and 0 <= value < 1
    return number and isinstance(value, int) and 0 <= value <= MOST_SEED


def _check_source(file: Path, data: dict[str, Any]) -> None:
    if ("path" in data) == ("dataset" in data):
        raise InvalidInput(
            f'{file}: [data] needs either path = "table.csv" or dataset = "penguins"; it has '
            f"{'both' if 'path' in data else 'neither'}."
        )
    if "path" in data and "target" not in data:
        raise InvalidInput(f"{file}: data.target is missing; name the column to predict.")
    for name in ("task", "drop"):
        if "dataset" in data and name in data:
            raise InvalidInput(f"{file}: data.{name} is for a file; leave it out with a dataset.")


def _grid(file: Path, settings: dict[str, Any]) -> tuple[list[Settings], tuple[str, ...]]:
    """The product of the settings in the order of the file, and which of them differ."""
    if "hidden" not in settings:
        raise InvalidInput(f"{file}: settings.hidden is missing; give [[8], [16, 16]] or so.")
    known = [f.name for f in fields(Settings)]
    choices: dict[str, list[Any]] = {}
    for name, value in settings.items():
        if name not in known:
            raise InvalidInput(
                f"{file}: there is no settings.{name!s:.40}; [settings] takes {', '.join(known)}."
            )
        choices[name] = _choices(file, name, value)
    size = math.prod(map(len, choices.values()))
    if size > MOST_NETWORKS:
        raise InvalidInput(
            f"{file}: the settings make {size:,} networks; a study takes at most "
            f"{MOST_NETWORKS:,}: give shorter lists."
        )
    try:
        grid = settings_grid(choices)
    except InvalidInput as error:
        raise InvalidInput(f"{file}, [settings]: {error}") from None
    return grid, tuple(name for name, values in choices.items() if len(values) > 1)


def _choices(file: Path, name: str, value: Any) -> list[Any]:
    """The values of one setting, each of the right type."""
    what = _needed(name)
    values = value if isinstance(value, list) else [value]
    if name == "hidden" and not (values and all(isinstance(widths, list) for widths in values)):
        values = []
    if not values:
        raise InvalidInput(f"{file}: settings.{name} is {value!r:.60}; it needs {what}.")
    return [_setting(file, name, one, what) for one in values]


def _needed(name: str) -> str:
    if name == "hidden":
        return "a list of lists of widths, such as [[8], [16, 16]], with [] for a linear model"
    kinds = get_args(_HINTS[name]) or (_HINTS[name],)
    for kind, what in ((bool, _SWITCH), (int, "a whole number"), (float, "a number")):
        if kind in kinds:
            return f'{what}, or "none"' if type(None) in kinds else what
    return _TEXT


def _setting(file: Path, name: str, value: Any, what: str) -> Any:
    kinds = get_args(_HINTS[name]) or (_HINTS[name],)
    if value == "none" and type(None) in kinds:
        return None
    fits = {
        bool: isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        float: isinstance(value, int | float) and not isinstance(value, bool),
        str: isinstance(value, str),
    }
    allowed = name == "hidden" or any(fits.get(kind, False) for kind in kinds)
    if name == "seed":
        allowed, what = _is_a(value, _WHOLE), _WHOLE
    if not allowed:
        raise InvalidInput(f"{file}: settings.{name} is {value!r:.60}; it needs {what}.")
    return value
