"""Stable-Baselines3: the policy inside the zip archive of a trained agent.

The archive holds the state dict of the policy as a torch file, and a JSON text beside it. The JSON
has values that were pickled in it: these are left alone, and only plain text is looked at.
"""

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

from ..._errors import InvalidFile
from .contents import Archive, open_archive
from .loaded import Loaded, Options
from .torch_files import read_archive

POLICY = "policy.pth"
_ACTIVATIONS = {
    **{kind: kind.lower() for kind in ("ReLU", "Tanh", "ELU", "SiLU", "Sigmoid", "GELU")},
    **{kind: kind.lower() for kind in ("Softplus", "Softsign")},
    "LeakyReLU": "leaky_relu",
}


def read(path: Path, options: Options) -> Loaded:
    """The network of a policy that `options.name` picks: "actor", "critic", "q_net", ....

    The activation is that of the policy's settings, where they name it as text; else it is asked
    for.
    """
    with open_archive(path) as archive:
        if POLICY not in archive:
            raise InvalidFile(f"its archive has no {POLICY}, as agents of Stable-Baselines3 have.")
        data = archive.read(POLICY)
        if options.activation is None:
            options = replace(options, activation=_activation(archive))
        try:
            inner = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError):
            raise InvalidFile(f"its member {POLICY} is damaged.") from None
        with inner:
            return read_archive(Archive(inner, len(data)), options)


def _activation(archive: Archive) -> str | None:
    """The `activation_fn` of the policy's keyword arguments, if it stands there as text."""
    if "data" not in archive:
        return None
    try:
        kwargs = json.loads(archive.read("data").decode())["policy_kwargs"]
        text = str(kwargs.get("activation_fn", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    match = re.search(r"torch\.nn\.modules\.activation\.(\w+)", text)
    return _ACTIVATIONS.get(match[1]) if match else None
