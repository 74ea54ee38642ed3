"""Golden flows of the page: what a visitor does, and the numbers that must come of it."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import pellucid

READY = "html[data-ready]"
SPIRAL = {"view": {"speed": "full"}}


@pytest.fixture
def page(visit, folder_url):
    """The page, at work."""
    found = visit(folder_url).page
    found.wait_for_selector(READY)
    return found


def apply(page, state):
    """Open a state, as a link would."""
    page.evaluate("(state) => window.pellucid.apply(state)", state)


def parameters(page):
    """The parameters now."""
    return np.array(page.evaluate("() => Array.from(window.pellucid.parameters())"), np.float32)


def step(page, n):
    """Train for so many updates."""
    page.evaluate("(n) => window.pellucid.step(n)", n)


def example(page, name):
    """Open one of the examples by its button."""
    page.locator("[data-test=presets]").click()
    page.locator(f"[data-preset={name}]").click()
    page.wait_for_function("() => !document.querySelector('dialog')")


def test_training_runs_draws_and_stops(page):
    page.locator("[data-test=play]").click()
    page.wait_for_function("() => window.pellucid.snapshot().step > 300")
    page.locator("[data-test=play]").click()
    page.wait_for_function("() => window.pellucid.status === 'paused'")
    loss = page.evaluate("() => window.pellucid.snapshot().training_loss")
    start = page.evaluate("() => window.pellucid.curve.losses[0]")
    assert loss < start
    page.locator("[data-test=train-loss]", has_text=re.compile(f"^{loss:.4g}$")).wait_for()
    count = page.locator("[data-test=region-count]").inner_text().replace("\u202f", "")
    assert int(count) > 10


def test_the_first_weights_and_regions_are_those_of_pellucid(page):
    page.wait_for_selector("[data-test=region-count]")
    network = pellucid.initialize([2, 8, 8, 1], activation="relu", scheme="torch", seed=0)
    assert np.array_equal(parameters(page), network.parameters().astype(np.float32))
    low, high = page.evaluate(
        "() => { const { low, high } = window.pellucid.problem; return [low, high]; }"
    )
    regions = pellucid.linear_regions(network, pellucid.Box(low, high))
    count = page.locator("[data-test=region-count]").inner_text()
    assert int(count) == regions.n_activation_regions


def test_a_reload_after_undo_opens_what_undo_came_back_to(page):
    page.get_by_role("button", name="one unit more in layer 1").click()
    page.wait_for_function("() => location.hash.startsWith('#s=')")
    changed = page.evaluate("() => location.hash")
    page.locator("[data-test=undo]").click()
    page.wait_for_function("(changed) => location.hash !== changed", arg=changed)
    page.reload()
    page.wait_for_selector(READY)
    assert page.evaluate("() => window.pellucid.widths()[1]") == 8


def test_reset_undo_and_redo_bring_back_identical_weights(page):
    first = parameters(page)
    step(page, 37)
    trained = parameters(page)
    page.get_by_role("button", name="one unit more in layer 1").click()
    page.wait_for_function("() => window.pellucid.widths()[1] === 9")
    page.locator("[data-test=undo]").click()
    page.wait_for_function("() => window.pellucid.settled() && window.pellucid.widths()[1] === 8")
    assert np.array_equal(parameters(page), trained)
    step(page, 5)
    again = parameters(page)
    page.evaluate("() => window.pellucid.reset()")
    assert np.array_equal(parameters(page), first)
    page.evaluate("() => window.pellucid.undo()")
    assert np.array_equal(parameters(page), again)
    page.evaluate("() => window.pellucid.redo()")
    assert np.array_equal(parameters(page), first)


def test_the_timeline_goes_back_and_branches(page):
    for _ in range(6):
        step(page, 20)
    late = parameters(page)
    stops = page.evaluate("() => window.pellucid.track.all.map((c) => c.step)")
    assert stops == [0, 20, 40, 60, 80, 100, 120]
    page.locator("#tab-timeline").click()
    scrub = page.locator("[data-test=scrub]")
    scrub.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => window.pellucid.snapshot().step === 60")
    middle = parameters(page)
    step(page, 60)
    assert np.array_equal(parameters(page), late)  # the same rows in the same order
    branches = page.locator(".moments li").all_inner_texts()
    assert any("branch at step 60" in text for text in branches)
    page.evaluate("() => window.pellucid.rewind(window.pellucid.track.all[3])")
    assert np.array_equal(parameters(page), middle)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_link_restores_everything_to_the_bit(page, visit, folder_url, optimizer):
    apply(page, {"training": {"optimizer": optimizer, "momentum": 0.9, "dropout": 0.1}})
    step(page, 123)
    page.locator("[data-test=share]").click()
    page.locator("#kind-whole").check()
    page.wait_for_function("() => document.querySelector('[data-test=link]').value.length > 1500")
    link = page.locator("[data-test=link]").input_value()
    step(page, 100)
    other = visit(folder_url + "#" + link.partition("#")[2]).page
    other.wait_for_selector(READY)
    assert other.evaluate("() => window.pellucid.snapshot().step") == 123
    step(other, 100)
    assert np.array_equal(parameters(other), parameters(page))


def test_a_damaged_link_is_told_and_the_page_works(visit, folder_url):
    page = visit(folder_url + "#s=abcdef").page
    page.wait_for_selector(READY)
    assert "cut off or damaged" in page.locator("#notices").inner_text()
    step(page, 1)


def test_a_classroom_link_hides_controls(page, visit, folder_url):
    page.locator("[data-test=share]").click()
    page.get_by_text("For a class").click()
    for name in ("data sets", "optimizer", "learning rate"):
        page.get_by_label(name, exact=True).check()
    page.wait_for_timeout(200)
    link = page.locator("[data-test=link]").input_value()
    other = visit(folder_url + "#" + link.partition("#")[2]).page
    other.wait_for_selector(READY)
    assert not other.get_by_label("Optimizer").is_visible()
    assert not other.get_by_label("Spirals", exact=True).is_visible()
    assert other.get_by_label("Batch size").is_visible()


def test_the_flower_is_worked_as_in_the_lesson(page):
    example(page, "flower")
    worked = page.locator("[data-test=worked]")
    worked.get_by_text("z2[0]").wait_for()
    text = worked.inner_text()
    for line in (
        "z1[1] = 0·0.5 + 1·(−1) + 0.5·2 + (−0.5)·1.5 + 0 = −0.75",
        " = −0.25\n",
        "= 0.925\n",
        "= 1.25\n",
        "p = softmax(z2) = (0.1147, 0.3714, 0.5140)",
        "ℓ = −log p[1] = −log 0.3714 = 0.9906 nats",
        "δ2[1] = p[1] − 1 = 0.3714 − 1 = −0.6286",
        "(−0.0712, 0.1423, −0.2846, −0.2135)",
    ):
        assert line in text, line
    assert worked.locator("tr.blocked").count() == 1
    page.locator("[data-test=next-line]").click()
    assert page.locator(".edge[data-lit]").count() == 4


def test_a_region_has_one_map_that_agrees(page):
    step(page, 50)
    frame = page.locator(".plane-frame")
    frame.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    at = page.evaluate("() => window.pellucid.state().probe")
    network = pellucid.initialize([2, 8, 8, 1], seed=0).with_parameters(parameters(page))
    z = network.forward(np.array([at])).z
    bits = ["".join("01"[int(v > 0)] for v in layer[0]) for layer in z[:-1]]
    expect(page.locator("[data-test=pattern] code")).to_have_text(bits)
    page.locator("[data-test=map-agrees]", has_text="✓ agrees").wait_for()


def test_a_dead_unit_is_marked_and_explained(page):
    flat = parameters(page)
    flat[:2], flat[16] = 0.01, -9.0
    page.evaluate("(p) => window.pellucid.edit(Float32Array.from(p), 'a test')", flat.tolist())
    unit = page.get_by_role("button", name=re.compile("unit 0 of layer 1: dead: z ≤ 0 on all"))
    unit.wait_for()
    page.locator("#tab-units").click()
    assert "no gradient reaches its weights" in page.locator("[data-test=units]").inner_text()


def test_a_weight_is_edited_by_hand(page):
    page.get_by_role("button", name=re.compile("^output 0")).click()
    field = page.get_by_label("bias", exact=True)
    field.fill("2.5")
    field.press("Enter")
    page.wait_for_function("() => window.pellucid.parameters().at(-1) === 2.5")
    page.keyboard.press("Tab")
    page.evaluate("() => window.pellucid.undo()")
    page.wait_for_function("() => window.pellucid.parameters().at(-1) !== 2.5")


def test_divergence_keeps_what_was_finite_and_offers_a_way_on(page):
    example(page, "diverge")
    page.evaluate("() => window.pellucid.look((s) => { s.view.speed = 'full'; })")
    page.locator("[data-test=play]").click()
    page.wait_for_function("() => window.pellucid.status === 'diverged'")
    assert np.isfinite(parameters(page)).all()
    assert "The last finite weights are kept" in page.locator("#notices").inner_text()
    page.get_by_role("button", name="Start again with learning rate 1", exact=True).click()
    page.wait_for_function("() => window.pellucid.state().training.learning_rate === 1")


def test_a_pasted_table_is_read_and_wrong_ones_are_refused(page):
    page.locator("#tab-data").click()
    page.locator("[data-test=csv]").fill("a,b\n1,2\n3\n")
    page.locator("[data-test=read-csv]").click()
    assert "row 3 has 1 cells" in page.locator("[data-test=csv-error]").inner_text()
    rows = "\n".join(
        f"{i / 20},{(i * 7 % 20) / 20},{'red' if i % 3 else 'blue'}" for i in range(40)
    )
    page.locator("[data-test=csv]").fill(f"width,height,colour\n{rows}\n")
    page.locator("[data-test=read-csv]").click()
    page.locator("[data-test=use-columns]").click()
    page.wait_for_function("() => window.pellucid.problem.classes?.[0] === 'blue'")
    assert page.evaluate("() => window.pellucid.problem.columns") == ["width", "height"]
    assert page.evaluate("() => window.pellucid.problem.n") == 40
    step(page, 3)


def test_exported_code_computes_what_the_page_computes(page):
    torch = pytest.importorskip("torch")
    step(page, 40)
    page.locator("#tab-code").click()
    page.wait_for_function(
        "() => document.querySelector('[data-test=code]').textContent.length > 99"
    )
    code = page.locator("[data-test=code]").inner_text()
    names: dict = {}
    exec(compile(code, "network.py", "exec"), names)
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    ours = page.evaluate(
        "async (x) => Array.from((await pellucid.engine.forward(pellucid.parameters(),"
        " Float32Array.from(x))).logits)",
        X.ravel().tolist(),
    )
    with torch.no_grad():
        theirs = names["network"](torch.from_numpy(X)).numpy().ravel()
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("state", [{}, {"features": ["x1", "x1*x2"], "seed": 3}])
def test_the_exported_script_trains_the_same_network(page, state):
    apply(page, state)
    step(page, 100)
    page.locator("#tab-code").click()
    page.get_by_role("button", name="Training script").click()
    code = page.locator("[data-test=code]").inner_text()
    names: dict = {}
    exec(compile(code, "train.py", "exec"), names)
    theirs = names["run"].network.parameters()
    np.testing.assert_allclose(parameters(page), theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.page
def test_many_seeds_end_in_a_verdict(page):
    page.locator("#tab-seeds").click()
    page.get_by_label("steps of each").select_option("300")
    page.locator("[data-test=train-seeds]").click()
    page.wait_for_selector(".strip .seed:nth-child(32)", timeout=60_000)
    words = page.locator("[data-test=seeds-verdict]").inner_text()
    assert re.search(r"\d+ of 32 seeds fit", words)
    assert "never a proof" in words


def test_everything_fits_a_telephone(visit, folder_url):
    page = visit(folder_url, viewport={"width": 360, "height": 740}).page
    page.wait_for_selector(READY)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_tabs_and_pictures_answer_to_the_keyboard(page):
    page.locator("#tab-worked").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-units").get_attribute("aria-selected") == "true"
    page.locator(".chart").first.focus()
    page.keyboard.press("ArrowLeft")
    assert "step 0" in page.locator("#curves .reading").first.inner_text()
    page.keyboard.press("Control+z")
    reachable = page.evaluate(
        "() => [...document.querySelectorAll('button, select, input, [tabindex]')]"
        ".filter((e) => e.offsetParent && e.tabIndex < 0 && e.getAttribute('role') !== 'tab'"
        " && e.id !== 'network').map((e) => e.outerHTML.slice(0, 80))"
    )
    assert reachable == []


def test_a_state_file_is_short_and_readable(page):
    page.locator("[data-test=share]").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    assert json.loads(download.value.path().read_text()) == {"version": 1}


@pytest.mark.page
def test_python_gives_its_verdict_and_its_files(visit, page_server):
    page = visit(f"http://127.0.0.1:{page_server.port}/?token={page_server.token}").page
    page.wait_for_selector(READY)
    apply(page, {"hidden": [{"units": 2}], "data": {"name": "moons"}})
    page.locator("#tab-seeds").click()
    page.get_by_label("steps of each").select_option("300")
    page.locator("[data-test=diagnose]").click()
    page.locator("[data-test=diagnosis]").wait_for(timeout=150_000)
    assert page.locator("[data-test=diagnosis]").inner_text().strip()
    page.locator("#tab-code").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=".pellucid").click()
    network = pellucid.load(
        download.value.path().rename(download.value.path().with_suffix(".pellucid"))
    )
    assert isinstance(network, pellucid.Network)
    assert np.array_equal(network.parameters().astype(np.float32), parameters(page))


def test_every_setting_can_change_while_a_network_trains(page):
    step(page, 5)
    found = page.evaluate(
        """async () => {
          const app = window.pellucid;
          const said = [];
          const settings = { optimizer: "sgd", momentum: 0.5, batch_size: 0, weight_decay: 0.01,
            l1: 0.001, dropout: 0.2, clip_norm: 1, schedule: "step", learning_rate: 0.02 };
          for (const [name, value] of Object.entries(settings)) {
            await app.change(name, (s) => { s.training[name] = value; });
            await app.step(3);
            said.push([app.snapshot().step, Number.isFinite(app.snapshot().training_loss)]);
          }
          for (let i = 0; i < 18; i++) await app.undo();
          return [said, app.snapshot().step, app.state().training.optimizer];
        }"""
    )
    assert found == [[[8 + 3 * i, True] for i in range(9)], 5, "adam"]


def test_a_state_that_the_engine_refuses_changes_nothing(page):
    step(page, 5)
    before = parameters(page)
    bad = {"version": 1, "run": {"parameters": "AAAA", "state": "AAAA"}}
    page.locator("[data-test=share]").click()
    page.locator("[data-test=paste-link]").fill(json.dumps(bad))
    page.locator("[data-test=open-link]").click()
    page.get_by_text("Not opened:").wait_for()
    page.keyboard.press("Escape")
    assert np.array_equal(parameters(page), before)
    step(page, 1)
