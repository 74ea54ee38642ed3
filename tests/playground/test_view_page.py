"""The widget in a browser, with a model as a notebook's front end keeps it."""

import base64
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from playground.browsing import static_server

import pellucid

pytestmark = pytest.mark.page

HOST = """<!doctype html>
<html lang="en"><head><title>Notebook</title><link rel="icon" href="data:,"></head>
<body><div id="output"></div><script type="module" src="host.js"></script></body></html>
"""
MODEL = """
import view from "./view.js";
const part = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const bytes = window.bytes = (text) => new DataView(part(text).buffer);
const kept = await (await fetch("model.json")).json();
for (const name of Object.keys(kept.files)) kept.files[name] = bytes(kept.files[name]);
const listeners = {};
window.model = {
  get: (name) => kept[name],
  set: (name, value) => { kept[name] = value; },
  save_changes() { this.saved = (this.saved ?? 0) + 1; },
  on: (name, act) => { (listeners[name] ??= new Set()).add(act); },
  off: (name, act) => listeners[name]?.delete(act),
  receive(name, value) {
    kept[name] = value;
    for (const act of listeners[`change:${name}`]) act();
  },
};

window.end = view.render({ model: window.model, el: document.getElementById("output") });
window.view = view;
"""


@pytest.fixture
def notebook(visit, tmp_path):
    pytest.importorskip("anywidget")
    from pellucid.playground import View

    network = pellucid.initialize([2, 4, 2], activation="tanh", seed=3)
    view = View(network)
    files = {name: base64.b64encode(data).decode() for name, data in view.files.items()}
    model = {"modules": view.modules, "files": files, "start": view.start, "height": 800}
    (tmp_path / "index.html").write_text(HOST)
    (tmp_path / "host.js").write_text(MODEL)
    (tmp_path / "model.json").write_text(json.dumps(model))
    shutil.copy(Path(pellucid.__file__).parent / "playground/notebook/view.js", tmp_path)
    with static_server(tmp_path) as address:
        page = visit(address).page
        page.wait_for_function("() => window.model?.saved > 0", timeout=30_000)
        yield page, network, view


def flat(network):
    return np.concatenate([np.r_[W.ravel(), b] for W, b, _ in network.layers]).astype(np.float32)


def trained(page):
    """The weights that the page has told the model."""
    return page.evaluate(
        "() => { const p = model.get('trained').parameters;"
        " return [...new Float32Array(p.buffer, p.byteOffset, p.byteLength / 4)]; }"
    )


def test_the_page_starts_in_a_cell_with_the_network_of_python(notebook):
    page, network, _ = notebook
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Train").first.wait_for()
    np.testing.assert_array_equal(np.float32(trained(page)), flat(network))


def test_networks_come_in_while_it_stands_and_weights_go_out(notebook):
    page, _, view = notebook
    other = pellucid.initialize([2, 4, 2], activation="tanh", seed=4)
    view.show(other)
    shown = view.shown | {"parameters": base64.b64encode(view.shown["parameters"]).decode()}
    page.evaluate("(s) => model.receive('shown', {...s, parameters: bytes(s.parameters)})", shown)
    page.wait_for_function(
        "(first) => { const p = model.get('trained').parameters;"
        " return Math.abs(new Float32Array(p.buffer, p.byteOffset)[0] - first) < 1e-6; }",
        arg=float(flat(other)[0]),
    )
    np.testing.assert_array_equal(np.float32(trained(page)), flat(other))
    page.frame_locator("iframe").get_by_role("button", name="Train").first.click()
    page.wait_for_function("() => model.get('trained').step > 20")
    assert not np.array_equal(np.float32(trained(page)), flat(other))


def test_the_page_leaves_the_cell_when_the_cell_goes(notebook):
    page, _, _ = notebook
    page.evaluate("() => window.end()")
    assert page.locator("iframe").count() == 0


def test_a_cell_may_come_into_the_notebook_later(notebook):
    page, network, _ = notebook
    page.evaluate(
        "() => { window.end(); model.saved = 0; window.cell = document.createElement('div');"
        " window.end = view.render({ model, el: cell }); }"
    )
    page.wait_for_timeout(300)
    assert page.locator("iframe").count() == 0
    page.evaluate("() => document.body.append(cell)")
    page.wait_for_function("() => model.saved > 0", timeout=30_000)
    np.testing.assert_array_equal(np.float32(trained(page)), flat(network))


def test_a_cell_that_is_taken_out_and_in_again_goes_on_where_it_was(notebook):
    page, _, _ = notebook
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Train").first.click()
    page.wait_for_function("() => model.get('trained').step > 20")
    frame.get_by_role("button", name="Pause").first.click()
    page.wait_for_timeout(1200)
    before, step = trained(page), page.evaluate("() => model.get('trained').step")
    page.evaluate(
        "() => { const cell = document.querySelector('iframe').parentElement; cell.remove();"
        " model.saved = 0; document.body.append(cell); }"
    )
    page.wait_for_function("() => model.saved > 0", timeout=30_000)
    assert trained(page) == before
    assert page.evaluate("() => model.get('trained').step") == step
    frame.get_by_role("button", name="Train").first.click()
    page.wait_for_function(f"() => model.get('trained').step > {step}")
