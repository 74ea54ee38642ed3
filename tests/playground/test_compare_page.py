"""A against B: two networks that learn side by side."""

import re

import pytest

READY = "html[data-ready]"


@pytest.fixture
def page(visit, folder_url):
    """The page with the tool open."""
    found = visit(folder_url).page
    found.wait_for_selector(READY)
    found.locator("#tab-compare").click()
    return found


def cells(page, row):
    """What stands in a row of the table, for A and for B."""
    return page.locator(f"[data-test=comparison] tr:has(th:text-is('{row}')) td").all_inner_texts()


def picture(page, which):
    """The pixels of one of the two pictures, as text."""
    return page.evaluate(
        "(i) => document.querySelectorAll('[data-test=comparison] canvas')[i].toDataURL()", which
    )


def wait_until_ended(page):
    """Until the sentence about the end stands there and the regions of it are counted."""
    page.locator("[data-test=comparison-told]", has_text="One seed each").wait_for()
    page.locator("[data-test=train-both]", has_text="Train both").wait_for()


def test_both_are_seen_while_they_learn_and_make_the_same_steps(page):
    page.get_by_label("steps", exact=True).select_option("30000")
    page.locator("[data-test=b-widths]").fill("64, 64")
    page.locator("[data-test=train-both]").click()
    page.locator("[data-test=comparison] tr:has(th:text-is('step'))").wait_for()
    seen, pictures = [], set()
    for _ in range(4):
        a, b = cells(page, "step")
        assert a == b
        seen.append(int(re.sub(r"\D", "", a)))
        pictures.add((picture(page, 0), picture(page, 1)))
        page.wait_for_timeout(250)
    page.locator("[data-test=train-both]", has_text="Stop both").click()
    wait_until_ended(page)
    assert seen == sorted(set(seen))
    assert len(pictures) > 1
    assert seen[-1] < 30_000


def test_what_a_ends_with_is_what_the_network_above_trains_to(page):
    page.get_by_label("steps", exact=True).select_option("300")
    page.locator("[data-test=b-widths]").fill("16")
    page.locator("[data-test=train-both]").click()
    wait_until_ended(page)
    assert cells(page, "step") == ["300", "300"]
    assert cells(page, "widths") == ["2-8-8-1", "2-16-1"]
    page.evaluate("() => window.pellucid.step(300)")
    loss = page.evaluate("() => window.pellucid.snapshot().training_loss")
    shown = float(cells(page, "training loss")[0])
    assert shown == pytest.approx(loss, rel=1e-3)
    assert all(text.endswith("(step 300)") for text in cells(page, "regions here"))


def test_other_data_end_the_comparison(page):
    page.get_by_label("steps", exact=True).select_option("30000")
    page.locator("[data-test=train-both]").click()
    page.locator("[data-test=train-both]", has_text="Stop both").wait_for()
    page.evaluate("() => window.pellucid.apply({ data: { name: 'sine' } })")
    wait_until_ended(page)
    assert "changed since" in page.locator("[data-test=comparison-told]").inner_text()
