"""A user's own network or script at the command line: `--model net.pellucid`, `script.py:make`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .._errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from ..datasets import Table
    from ..diagnosis.verdict import Recipe

LOSSES = ("cross_entropy", "mse", "l1", "bce", "bce_with_logits", "nll")
"""Losses that `--loss` knows by name; any other name is one of the script's."""


Question = Callable[["Table", int], dict[str, Any]]


def question_of(
    data: str,
    rows: str | None,
    model: Path | None,
    loss: str | None,
    train_fn: str | None,
    recipe: "Recipe",
) -> tuple[str, Question | None]:
    """Which table is meant, and the arguments of `diagnose` for it; None where a recipe is."""
    from ..diagnosis.verdict import Recipe

    script = is_script(data)
    if not script and (rows or loss or train_fn):
        raise InvalidInput(
            "--data, --loss and --train-fn go with a script: "
            "pellucid diagnose script.py:make_model --data table.csv --target y."
        )
    if script and (rows is None or model is not None):
        raise InvalidInput(f"{data:.200} needs --data with the table, and takes no --model.")
    if (script or model is not None) and recipe != Recipe(hidden=(16,)):
        raise InvalidInput(
            f"{'your script' if script else '--model'} brings its own network; leave the options "
            "of a recipe (--hidden, --learning-rate, ...) out."
        )
    if script:
        assert rows is not None
        typer.echo(f"pellucid: running your own Python: {data.rpartition(':')[0]}", err=True)
        return (
            rows,
            lambda table, seed: script_arguments(data, loss, train_fn, table) | {"seed": seed},
        )
    if model is not None:
        return data, lambda table, seed: given_model(model, table, seed)
    return data, None


def is_script(data: str) -> bool:
    """Whether DATA names a function in a Python file, as in model.py:make_model."""
    name, colon, function = data.rpartition(":")
    return bool(colon) and name.endswith(".py") and function.isidentifier()


def given_model(path: Path, table: "Table", seed: int) -> dict[str, Any]:
    """The arguments of `diagnose` for a network in a file; the split is that of its training."""
    import json

    from ._model import read_chain

    network, about = read_chain(str(path))
    arguments: dict[str, Any] = {"model": network, "seed": seed}
    try:
        split = json.loads(about.get("split", "null"))
        if (split["rows"], split["task"]) == (table.n_rows, table.task):
            arguments |= {"seed": int(split["seed"]), "held_out": float(split["share"])}
    except (ValueError, TypeError, KeyError):
        pass  # a network that has no split, or not this one
    return arguments


def script_arguments(
    data: str, loss: str | None, train_fn: str | None, table: "Table"
) -> dict[str, Any]:
    """The arguments of `diagnose` from a user's script, which is run here."""
    from ..diagnosis.own import need_torch

    need_torch()
    name, _, function = data.rpartition(":")
    module = _run(Path(name))
    found: dict[str, Any] = {"model_fn": _attribute(module, function, name)}
    found["loss"] = _loss(module, loss, name, table)
    wanted = train_fn or ("train_fn" if hasattr(module, "train_fn") else None)
    found["train_fn"] = None if wanted is None else _attribute(module, wanted, name)
    return found


def _run(path: Path) -> Any:
    """Import the script as Python would."""
    from importlib.util import module_from_spec, spec_from_file_location

    from ..diagnosis.torch_code import user_code

    if not path.is_file():
        raise InvalidFile(f"there is no file {str(path)!r:.200}; give script.py:make_model.")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with user_code(f"the script {path.name}"):
        sys.modules.setdefault(path.stem, module)
        spec.loader.exec_module(module)
    return module


@contextmanager
def importable(data: str) -> Iterator[None]:
    """The folder of a script on the path, for its imports at the top and within functions."""
    before = list(sys.path)
    if is_script(data):
        sys.path.insert(0, str(Path(data.rpartition(":")[0]).resolve().parent))
    try:
        yield
    finally:
        sys.path[:] = before


def _attribute(module: Any, name: str, script: str) -> Any:
    value = getattr(module, name, None)
    if not callable(value):
        raise InvalidInput(f"{script} has no function {name!r}; name one that it defines.")
    return value


def _loss(module: Any, name: str | None, script: str, table: "Table") -> Callable[..., Any]:
    """The loss that was named, else `loss` of the script, else the usual one of the target."""
    from ..diagnosis.torch_loss import NAMED

    if name is None and hasattr(module, "loss"):
        return _attribute(module, "loss", script)
    if name is None:
        name = "mse" if table.classes is None else "cross_entropy"
    if name in NAMED and not hasattr(module, name):
        return NAMED[name]()
    if not hasattr(module, name):
        raise InvalidInput(
            f"--loss is {name!r}; choose one of {', '.join(LOSSES)}, or a function of {script}."
        )
    return _attribute(module, name, script)
