"""What the page can do where Python serves it: verdicts, files of every kind; and its starts."""

import json

import numpy as np
import pytest
from playground.serving import served

import pellucid
from pellucid.cli import run
from pellucid.datasets import as_table, load_dataset
from pellucid.playground import Playground, start_document

pytestmark = pytest.mark.page
READY = "html[data-ready]"


def at_work(visit, url):
    page = visit(url).page
    page.wait_for_selector(READY)
    return page


@pytest.fixture
def page(visit, page_server):
    return at_work(visit, f"http://127.0.0.1:{page_server.port}/?token={page_server.token}")


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def parameters(page):
    return np.float32(page.evaluate("() => Array.from(window.pellucid.parameters())"))


def flat(network):
    return np.concatenate([np.r_[W.ravel(), b] for W, b, _ in network.layers]).astype(np.float32)


def test_the_verdict_of_the_page_comes_in_its_own_words(page):
    state = {"hidden": [], "data": {"name": "concentric", "n": 200}}
    page.evaluate("(state) => window.pellucid.apply(state)", state)
    tab(page, "Capacity or luck?")
    page.locator("[data-test=diagnose]").click()
    words = page.locator("[data-test=diagnosis]")
    words.filter(has_text="capacity failure").wait_for(timeout=120_000)


def test_a_verdict_can_be_stopped_in_the_page(page, page_server):
    tab(page, "Capacity or luck?")
    page.locator("[data-test=diagnose]").click()
    page.get_by_text("%").first.wait_for(timeout=60_000)
    page.locator("[data-test=diagnose]").click()
    page.get_by_text("stopped.").wait_for()
    for _ in range(100):
        if not page_server.children():
            return
        page.wait_for_timeout(100)
    pytest.fail("its process goes on")


@pytest.mark.parametrize("suffix", ["onnx", "npz", "pellucid", "nnet"])
def test_a_network_goes_out_and_computes_the_same(page, tmp_path, suffix):
    tab(page, "Code")
    with page.expect_download() as download:
        page.get_by_role("button", name=f".{suffix}", exact=True).click()
    download.value.save_as(tmp_path / f"network.{suffix}")
    network = pellucid.load(tmp_path / f"network.{suffix}")
    x = np.random.default_rng(0).uniform(-1, 1, (20, 2)).astype(np.float32)
    found = page.evaluate(
        "async (x) => [...(await pellucid.engine.forward(pellucid.parameters(),"
        " Float32Array.from(x))).logits]",
        x.ravel().tolist(),
    )
    np.testing.assert_allclose(network(x).ravel(), found, rtol=1e-5, atol=1e-6)


def upload(page, path):
    tab(page, "Data")
    page.get_by_label("a file").set_input_files(str(path))


@pytest.mark.parametrize("suffix", ["onnx", "npz", "pellucid"])
def test_a_network_of_a_file_comes_in_with_its_weights(page, tmp_path, suffix):
    network = pellucid.initialize([2, 5, 3, 2], activation="relu", seed=2)
    pellucid.save(network, tmp_path / f"net.{suffix}")
    upload(page, tmp_path / f"net.{suffix}")
    page.wait_for_function("() => pellucid.widths().join() === '2,5,3,2'")
    np.testing.assert_array_equal(parameters(page), flat(network))


def test_a_parquet_table_comes_in(page, tmp_path):
    load_dataset("moons", n=60, seed=1).to_frame().write_parquet(tmp_path / "rows.parquet")
    upload(page, tmp_path / "rows.parquet")
    page.get_by_role("button", name="Use this target").click()
    page.wait_for_function("() => pellucid.problem.n === 60")


def test_a_file_that_runs_code_is_refused_in_a_sentence(visit, page, tmp_path):
    visit.forgiven.append("400 (Bad Request)")  # the console tells of every refused request
    (tmp_path / "net.pkl").write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    upload(page, tmp_path / "net.pkl")
    page.get_by_text("Not read:").wait_for()


# ---- what the page starts with


def test_it_starts_with_a_network_of_python(visit):
    network = pellucid.initialize([2, 6, 2], activation="tanh", seed=5)
    with Playground(start_document(network=network, name="mine")) as served_page:
        page = at_work(visit, served_page.url)
        assert page.evaluate("() => pellucid.widths()") == [2, 6, 2]
        np.testing.assert_array_equal(parameters(page), flat(network))


@pytest.mark.parametrize("widths", [[1, 3, 1], [4, 3, 2], [3, 5, 5], [2, 3, 1]])
def test_networks_of_other_shapes_start_too(visit, widths):
    network = pellucid.initialize(widths, activation="relu", seed=5)
    with Playground(start_document(network=network, name="mine")) as served_page:
        page = at_work(visit, served_page.url)
        assert page.evaluate("() => pellucid.widths()") == widths
        np.testing.assert_array_equal(parameters(page), flat(network))


def test_rows_far_from_mean_0_are_standardised_and_it_says_so(visit):
    X = np.random.default_rng(0).normal([1.7, 70], [0.1, 10], (60, 2))
    table = as_table(X, 1000 + 200 * X[:, 1])
    with Playground(start_document(table=table)) as served_page:
        page = at_work(visit, served_page.url)
        rows = np.array(page.evaluate("() => [...pellucid.problem.points]")).reshape(60, 2)
        y = np.array(page.evaluate("() => [...pellucid.problem.y]"))
        for column in (*rows.T, y):
            assert abs(column.mean()) < 1e-5
            assert column.std() == pytest.approx(1, abs=1e-5)
        said = page.locator("#notices").inner_text()
        assert "The inputs and the target were standardised (mean 0, deviation 1)." in said


def test_it_starts_with_a_table_of_python(visit):
    table = load_dataset("penguins")
    with Playground(start_document(table=table)) as served_page:
        page = at_work(visit, served_page.url)
        assert page.evaluate("() => pellucid.problem.n") == table.n_rows
        assert page.evaluate("() => pellucid.problem.classes") == list(table.classes)


def test_a_link_of_the_page_opens_in_another_one(visit, page, tmp_path):
    page.evaluate("() => pellucid.apply({seed: 11, hidden: []})")
    link = page.evaluate(
        """async () => {
          const { toLink } = await import("./page/links.js");
          return toLink(pellucid.state(), "https://school.example/page/");
        }"""
    )
    with served(tmp_path, link) as found:
        other = at_work(visit, f"http://127.0.0.1:{found.port}/?token={found.token}")
        assert other.evaluate("() => pellucid.state().seed") == 11
        np.testing.assert_array_equal(parameters(other), parameters(page))


def test_a_state_of_the_page_opens_from_its_file(visit, page, tmp_path):
    page.evaluate("() => pellucid.step(7)")
    text = page.evaluate(
        """async () => {
          const { toFile } = await import("./page/links.js");
          return toFile(await pellucid.whole());
        }"""
    )
    (tmp_path / "state.json").write_text(text)
    with served(tmp_path, str(tmp_path / "state.json")) as found:
        other = at_work(visit, f"http://127.0.0.1:{found.port}/?token={found.token}")
        assert other.evaluate("() => pellucid.snapshot().step") == 7
        np.testing.assert_array_equal(parameters(other), parameters(page))


def test_a_folder_with_own_data_and_a_lesson_needs_no_server(visit, tmp_path, monkeypatch):
    from playground.browsing import static_server

    monkeypatch.chdir(tmp_path)
    lesson = {"format": 1, "title": "My lesson", "steps": [{"text": "Look."}]}
    (tmp_path / "mine.json").write_text(json.dumps(lesson))
    assert run(["playground", "penguins", "--lesson", "mine.json", "--export", "www"]) == 0
    with static_server(tmp_path / "www") as address:
        page = at_work(visit, address)
        assert page.evaluate("() => pellucid.problem.n") == load_dataset("penguins").n_rows
        page.get_by_role("button", name="Lessons").first.click()
        page.get_by_role("dialog").get_by_role("button", name="My lesson").click()
        page.get_by_text("Look.").wait_for()
