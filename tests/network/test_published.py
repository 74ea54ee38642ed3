"""Every published network loads and gives its reference outputs; the page of formats says which."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from published_networks import REFUSED, SHARED, UNNAMED, published

import pellucid
from pellucid import InvalidFile, InvalidInput
from pellucid.network.formats.table import FORMATS, recognised

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "formats.md"
ILL_CONDITIONED = {"simple_deep_2.onnx"}  # its outputs are small differences of large numbers

FILES = [pytest.param(file, id=file.record["path"]) for file in published()]


@pytest.mark.parametrize("file", FILES)
def test_a_published_network_loads_and_gives_its_reference_outputs(file):
    if file.kind in REFUSED:
        with pytest.raises(InvalidFile, match=r"(asks for '|its pickle asks for ')") as error:
            pellucid.load(file.path)
        assert "state_dict()" in str(error.value)
        return
    loaded = file.read()
    if file.path.name in ILL_CONDITIONED:
        assert loaded.network.dtype == np.float32
        assert file.deviation(loaded) < 2e-5
    else:
        assert file.deviation(loaded) < 1e-5


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_does_not_say_its_activation_asks_for_it(file):
    if file.kind not in UNNAMED or not file.options.get("activation"):
        return
    with pytest.raises(InvalidInput, match='activation="relu"'):
        pellucid.load(file.path, name=file.options.get("name"))


# ---- the table in the docs


def written_table() -> list[str]:
    """One row per kind of file: how many of the published ones load, and what is to be said."""
    counts: dict[str, list[int]] = {name: [0, 0] for name in FORMATS}
    for file in published():
        kind = recognised(file.path).name
        counts[kind][file.kind in REFUSED] += 1
    lines = [
        "| file kind | suffixes | published files: loaded | refused | result | `save` |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in FORMATS.items():
        loaded, refused = (str(n) if n else "" for n in counts[name])
        suffixes = " ".join(f"`{suffix}`" for suffix in row.suffixes) or "`.zip`"
        cells = (row.title, suffixes, loaded, refused, row.result, "yes" if row.writer else "no")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def test_the_page_of_formats_has_this_table():
    """Run with PELLUCID_WRITE_DOCS=1 to write it."""
    if SHARED is None:
        pytest.skip("the published networks are not beside this repository")
    text = PAGE.read_text()
    begin, end = "<!-- table of formats: made by tests/network/test_published.py -->\n\n", "\n\n"
    table = "\n".join(written_table())
    if os.environ.get("PELLUCID_WRITE_DOCS"):
        at = text.index(begin) + len(begin)
        PAGE.write_text(text[:at] + table + text[text.index(end, at) :])
        text = PAGE.read_text()
    assert begin + table + end in text
    numbers = re.search(r"(\d+) published networks from (\d+) sources", text)
    assert numbers is not None
    folders = {file.record["path"].split("/")[0] for file in published()} - {"derived"}
    assert (int(numbers[1]), int(numbers[2])) == (len(published()), len(folders))
