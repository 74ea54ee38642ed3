"""The process of one job: it reads a request from standard input and answers in lines of JSON.

Files of strangers and long computations live here, so that nothing they do reaches the server.
The last line is `{"result": ...}` or `{"error": sentence}`. The process ends when the server
closes its standard input, for whatever reason.
"""

import base64
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._errors import InvalidInput, PellucidError, UnsupportedLayer

Tell = Callable[[dict[str, Any]], None]
LONGEST_BUDGET = 300.0
RECIPE = (
    *("hidden", "activation", "optimizer", "learning_rate", "steps", "batch_size"),
    *("weight_decay", "schedule", "standardize"),
)
FORMATS = ("onnx", "pt", "npz", "nnet", "pellucid")


def read_network(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """A file of any format that `pellucid.load` takes, as the page's own values."""
    from ..network import Network
    from ..network.files import read
    from ..network.kept import about_of, names_in
    from .documents import network_document

    path = Path(request["file"])
    loaded = read(path, activation=request.get("activation"), name=request.get("name"))
    network = loaded.network
    if not isinstance(network, Network):
        raise UnsupportedLayer(
            f"{path} is no chain of layers but a graph, and the playground shows chains."
        )
    about = about_of(path, loaded)
    feature_names, classes = names_in(about, network)
    notes = [*loaded.folded]
    notes += [f"The file ends in a {head}; the network gives its inputs, the logits."
              for head in loaded.heads.values()]  # fmt: skip
    return network_document(
        network,
        path.name,
        likelihood=about.get("likelihood"),
        feature_names=feature_names,
        classes=classes,
        notes=notes,
    )


def read_table(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """The columns of a file, or with a target its rows as the page's own values."""
    from ..datasets import read_table
    from ..datasets.files import read_file
    from ..datasets.infer import blank_to_missing, infer_column
    from ..datasets.rawtable import RawTable
    from .documents import table_document

    path, target = Path(request["file"]), request.get("target")
    if target is not None:
        drop = tuple(request.get("drop") or ())
        return table_document(read_table(path, target, drop=drop))
    raw = read_file(path)
    series = tuple(map(blank_to_missing, raw.series))
    raw = RawTable(raw.origin, raw.names, series, raw.row_numbers, raw.unit)
    kinds = [infer_column(raw, j).column.kind for j in range(len(raw.names))]
    columns = [{"name": n, "kind": k} for n, k in zip(raw.names, kinds, strict=True)]
    return {"name": path.stem, "columns": columns, "n_rows": raw.n_rows}


def save_network(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """The bytes of a file of the page's network, in base64."""
    from ..network.files import content
    from .documents import network_from

    if request.get("format") not in FORMATS:
        raise InvalidInput(
            f"format is {request.get('format')!r:.40}; choose one of {', '.join(FORMATS)}."
        )
    data = content(network_from(request["network"]), Path(f"network.{request['format']}"))
    return {"base64": base64.b64encode(data).decode("ascii")}


def verdict(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """The verdict of `pellucid.diagnose`, and its words; every stage is told as it goes."""
    from ..diagnosis import diagnose
    from .documents import check_hidden, is_number, table_from

    os.nice(5)  # the page goes on drawing
    table = table_from(request.get("table"))
    recipe, seed, budget = (request.get(key, d) for key, d in DEFAULTS.items())
    if not isinstance(recipe, dict) or set(recipe) - set(RECIPE):
        raise InvalidInput(f"recipe needs to be an object of {', '.join(RECIPE)}.")
    if not is_number(budget) or not 0 < budget <= LONGEST_BUDGET:
        raise InvalidInput(f"budget is {budget!r:.40}; it needs 0 to {LONGEST_BUDGET:g} seconds.")
    recipe = dict[str, Any]({"hidden": [4]}) | recipe
    check_hidden(recipe["hidden"])
    found = diagnose(
        table,
        **recipe,
        seed=seed,
        budget=budget,
        threads=max(1, (os.cpu_count() or 1) - 1),
        progress=lambda stage, done: tell({"stage": stage, "done": round(done, 3)}),
    )
    return {"verdict": found.to_dict(), "text": repr(found)}


DEFAULTS: dict[str, Any] = {"recipe": {}, "seed": 0, "budget": 60.0}
JOBS: dict[str, Callable[[dict[str, Any], Tell], dict[str, Any]]] = {
    "network": read_network,
    "table": read_table,
    "save": save_network,
    "verdict": verdict,
}


def answer(request: dict[str, Any], tell: Tell) -> None:
    """Do the job and tell its result, or in one sentence what kept it from being done."""
    try:
        tell({"result": JOBS[request["job"]](request, tell)})
    except PellucidError as error:
        tell({"error": str(error)})
    except MemoryError:
        tell({"error": "this does not fit into memory; take fewer rows or a smaller network."})
    except Exception as error:
        traceback.print_exc()
        tell({"error": f"a bug in Pellucid ({type(error).__name__}); its log has the details."})


def main() -> None:
    """Read the request, answer, and end."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    request = json.loads(_first_line())
    threading.Thread(target=_end_with_the_server, daemon=True).start()

    def tell(line: dict[str, Any]) -> None:
        lines.write(json.dumps(line, allow_nan=False) + "\n")
        lines.flush()

    answer(request, tell)


def _first_line() -> bytes:
    """The first line of standard input, without a buffer that would keep what follows."""
    parts = [b""]
    while not parts[-1].endswith(b"\n"):
        part = os.read(0, 1 << 20)
        if not part:
            sys.exit(1)
        parts.append(part)
    return b"".join(parts)


def _end_with_the_server() -> None:
    """Wait for the end of standard input, which is the end of the server or of its interest."""
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
