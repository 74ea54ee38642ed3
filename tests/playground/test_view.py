"""The page in a notebook: its modules without addresses, and the widget's two sides."""

import json
import subprocess

import numpy as np
import pytest

import pellucid
from pellucid._errors import InvalidInput
from pellucid.playground.bundle import PREFIX, modules
from pellucid.playground.site import page_files


def test_every_module_stands_behind_those_that_it_imports():
    seen = set()
    for path, text in modules(page_files()):
        needed = {part.partition('"')[0] for part in text.split(f'"{PREFIX}')[1:]}
        assert needed <= seen
        assert "import.meta" not in text
        seen.add(path)
    assert "page/main.js" in seen
    assert "engine/pellucid.wasm.gz" in page_files()
    assert "engine/worker.js" in seen


@pytest.mark.slow
def test_rewritten_modules_are_still_programs(node, tmp_path):
    for path, text in modules(page_files()):
        file = tmp_path / path.replace("/", "_").replace(".js", ".mjs")
        file.write_text(text.replace(f'"{PREFIX}', '"./'))
    for file in tmp_path.iterdir():
        subprocess.run([node, "--check", str(file)], check=True, capture_output=True)


def test_modules_that_import_each_other_are_told():
    circle = {"a.js": b'import { b } from "./b.js";', "b.js": b'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match="circle"):
        modules(circle)


def test_types_in_comments_are_no_imports():
    files = {"a.js": b'/** @typedef {import("./b.js").B} B */\n// import "./b.js"\nexport {};'}
    ((_, text),) = modules(files)
    assert "b.js" not in text


@pytest.fixture
def view():
    pytest.importorskip("anywidget")
    from pellucid.playground import View

    return View


def test_a_view_holds_its_network_and_takes_others(view):
    network = pellucid.initialize([2, 4, 2], seed=0)
    shown = view(network)
    assert shown.start["network"]["widths"] == [2, 4, 2]
    assert shown.network is None
    other = pellucid.initialize([2, 4, 2], seed=1)
    shown.show(other)
    flat = np.concatenate([np.r_[W.ravel(), b] for W, b, _ in other.layers]).astype(np.float32)
    np.testing.assert_array_equal(np.frombuffer(shown.shown["parameters"], np.float32), flat)
    json.dumps(shown.start)


def test_a_view_gives_back_what_the_page_trained(view):
    network = pellucid.initialize([2, 3, 2], activation="tanh", seed=0)
    flat = np.concatenate([np.r_[W.ravel(), b] for W, b, _ in network.layers]).astype(np.float32)
    shown = view()
    hidden = [{"name": "tanh", "parameters": []}]
    widths = [2, 3, 2]
    shown.trained = {"widths": widths, "hidden": hidden, "parameters": memoryview(flat.tobytes())}
    np.testing.assert_array_equal(shown.network.weights[0], network.weights[0].astype(np.float32))
    assert shown.network.activations == network.activations


def test_a_view_refuses_what_is_no_network(view):
    with pytest.raises(InvalidInput):
        view(3)
