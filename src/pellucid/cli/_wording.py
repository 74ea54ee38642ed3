"""Messages of the library in the words of the command line: the one place that knows both."""

import ast
import re
import shlex
from difflib import get_close_matches

SETTINGS = (
    "activation",
    "batch_size",
    "learning_rate",
    "optimizer",
    "port",
    "seed",
    "steps",
    "weight_decay",
)
MEANT = {
    "--lr": "--learning-rate",
    "--rate": "--learning-rate",
    "--wd": "--weight-decay",
    "--decay": "--weight-decay",
    "--l2": "--weight-decay",
    "--batch": "--batch-size",
    "--epochs": "--steps",
    "--iterations": "--steps",
    "--max-iter": "--steps",
    "--width": "--hidden",
    "--widths": "--hidden",
    "--layers": "--hidden",
    "--units": "--hidden",
    "--label": "--target",
    "--y": "--target",
    "--output": "--out",
    "--timeout": "--budget",
}
"""Options of other programs, and what they are called here."""


def spoken(message: str) -> str:
    """Return a message or note of the library with its arguments named as options."""
    message = re.sub(
        rf"^({'|'.join(SETTINGS)}) is ", lambda m: f"--{m[1].replace('_', '-')} is ", message
    )
    message = message.replace(
        "or remove this one to begin anew", "or give --restart to remove this one and begin anew"
    ).replace("the same call", "the same command")
    message = re.sub(r"^n is ", "--rows is ", message)
    message = message.replace("takes no n; leave it out", "takes no --rows; leave it out")
    message = re.sub(r"leave target out\.$", "leave --target out.", message)
    message = re.sub(r"ask for task '(\w+)'", r"use --task \1", message)
    return re.sub(r"\(drop (['\"].*['\"])\)", _drop, message)


def _drop(found: re.Match[str]) -> str:
    """(drop 'a', 'b c') as (--drop a --drop 'b c'); as it is, where it holds anything else."""
    try:
        names = ast.literal_eval(f"[{found[1]}]")
    except (ValueError, SyntaxError):
        return found[0]
    return f"({' '.join(f'--drop {shlex.quote(name)}' for name in names)})"


def unknown_option(name: str, possibilities: list[str]) -> str:
    """Return what to say about an option that does not exist."""
    close = [MEANT[name]] if name in MEANT else get_close_matches(name, possibilities, 2, 0.75)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; see --help."
    return f"there is no option {name}{hint}"
