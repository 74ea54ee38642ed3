"""The page as a visitor meets it: it opens anywhere, alone, offline, and for everyone."""

from pathlib import Path

import pytest
from playground.browsing import static_server

from pellucid.playground import export_page

READY = "html[data-ready]"
AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"


def opened(visit, url, **options):
    """A visitor whose page is at work."""
    found = visit(url, **options)
    found.page.wait_for_selector(READY)
    return found


def test_the_page_opens_and_asks_nobody_else(visit, page_url):
    page = opened(visit, page_url).page  # the fixture asserts the rest
    assert "token" not in page.url
    page.get_by_role("button", name="Train").first.click()
    page.wait_for_function("() => window.pellucid.snapshot().step > 100")


def test_an_exported_page_opens_again_without_a_network(visit, folder_url):
    found = opened(visit, folder_url)
    found.page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    found.context.set_offline(True)
    found.page.reload()
    found.page.wait_for_selector(READY)
    assert found.page.evaluate("() => window.pellucid.snapshot().step") == 0


def test_a_lesson_stands_in_another_page_in_one_line(visit, tmp_path):
    export_page(tmp_path / "play")
    (tmp_path / "index.html").write_text(
        '<!doctype html><html lang="en"><title>Class</title><link rel="icon" href="data:,">'
        '<iframe src="play/index.html#lesson=tent" width="100%" height="900" title="x"></iframe>'
    )
    with static_server(tmp_path) as address:
        page = visit(address).page
        frame = page.frame_locator("iframe")
        frame.get_by_role("heading", name="Folding").wait_for()
        # until it is kept for visits without network: the server must not end before
        page.frames[1].evaluate("() => navigator.serviceWorker.ready.then(() => true)")


def add_axe(page):
    """Load axe-core into the page."""
    assert AXE.exists(), "axe-core is missing; make node installs it, as make test-page does first"
    page.add_script_tag(path=str(AXE))


def serious(page):
    """What axe-core finds serious or critical in the page as it stands."""
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{v['id']} ({len(v['nodes'])}): {v['nodes'][0]['html'][:120]}"
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.page
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["", "#lesson=rings", "#lesson=tent", "#lesson=symmetry"])
def test_axe_finds_nothing_serious(visit, folder_url, scheme, width, fragment):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    page = opened(visit, folder_url + fragment, **options, bypass_csp=True).page
    if fragment:
        page.locator(".lesson-body").wait_for()
    add_axe(page)
    assert serious(page) == []


@pytest.mark.page
@pytest.mark.parametrize("options", [(1280, "light"), (360, "dark")], ids=["wide", "narrow"])
def test_axe_finds_nothing_serious_in_any_tool(visit, folder_url, options):
    width, scheme = options
    size = {"width": width, "height": 900}
    page = opened(visit, folder_url, color_scheme=scheme, viewport=size, bypass_csp=True).page
    page.evaluate("() => window.pellucid.step(50)")
    add_axe(page)
    tools = page.get_by_role("tab")
    assert tools.count() == 10
    for tool in tools.all():
        tool.click()
        if tool.get_attribute("id") == "tab-compare":
            page.locator("[data-test=train-both]").click()
            page.locator("[data-test=comparison-told]", has_text="One seed each").wait_for()
        page.wait_for_timeout(200)  # what the tool asks of the engine comes back
        assert (tool.inner_text(), serious(page)) == (tool.inner_text(), [])
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
