"""The report is one valid offline page that holds the whole verdict and no code of strangers."""

import re
from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser

import numpy as np
import pytest
from plot.verdicts import HOSTILE, VERDICTS

from pellucid import InvalidFile, write_report
from pellucid.report import command_line, render_report, words

VOID = {"meta", "br"}
DRAWN_INSIDE_SVG = {"path", "use", "image", "rect"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and complains about tags that do not nest."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@lru_cache
def rendered(name: str, **more) -> str:
    return render_report(VERDICTS[name](), **more)


@pytest.fixture(scope="module", params=VERDICTS, ids=VERDICTS)
def page(request) -> tuple[str, Page]:
    text = rendered(request.param)
    return text, Page(text)


def test_the_page_asks_for_nothing_outside_itself(page):
    text, parsed = page
    assert not parsed.all("script")
    assert not parsed.all("link")
    assert not parsed.all("iframe")
    loads = [
        value
        for _, attributes in parsed.tags
        for name, value in attributes.items()
        if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster")
    ]
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in loads)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert not [name for _, attributes in parsed.tags for name in attributes if name[:2] == "on"]
    policy = next(m for m in parsed.all("meta") if m.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'")


def test_the_page_can_be_listened_to(page):
    _, parsed = page
    assert parsed.all("html") == [{"lang": "en"}]
    assert len(parsed.all("h1")) == 1
    for svg in parsed.all("svg"):
        assert svg["role"] == "img"
        assert svg["aria-label"]
    assert len(parsed.all("figure")) == len(parsed.all("svg")) == len(parsed.all("figcaption"))
    assert all("scope" in th for th in parsed.all("th"))
    assert len(parsed.all("table")) == len(parsed.all("caption"))


def test_identifiers_are_unique_and_references_lead_somewhere(page):
    text, parsed = page
    identifiers = [a["id"] for _, a in parsed.tags if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    wanted = {a["aria-labelledby"] for _, a in parsed.tags if "aria-labelledby" in a}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", text))
    wanted |= {a["xlink:href"][1:] for a in parsed.all("use")}
    assert wanted <= set(identifiers)


def test_the_page_is_small(page):
    assert len(page[0].encode()) < 2_000_000


def visible(name, **more) -> str:
    return " ".join(" ".join(Page(rendered(name, **more)).text).split())


def test_everything_that_the_verdict_says_is_there():
    verdict = VERDICTS["spirals"]()
    text = visible("spirals", witness_file="witness.pellucid", command="pellucid diagnose x")
    assert verdict.sentence in text
    for statement in verdict.statements:
        assert statement.text in text
    for one in (*verdict.references, *verdict.experiments):
        assert one.name in text
    assert "learning rate 0.003 instead of 0.01" in text
    assert "84.0 % 98.0 %" in text  # before and after
    assert "witness.pellucid" in text
    assert "pellucid diagnose x" in text
    assert "2 rows without a target were left out." in text
    assert "2-8-8-8-2 (186 parameters)" in text
    assert "layer 2 8 3 0 0" in text
    assert "same architecture 8,8,8 3 1 0.645 0.6 0.66 55.0 %" in text  # the diverged one


def test_your_run_has_a_row_of_its_own_and_seeds_are_named():
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    fix = replace(base.fix, seed=2)
    witness = replace(base.witness, name="learning rate 0.003 instead of 0.01, seed 3", seed=3)
    text = " ".join(Page(render_report(replace(base, fix=fix, witness=witness))).text)
    text = " ".join(text.split())
    assert "your run (seed 0) recipe 8,8,8 1 0.312 0.312 0.344 84.0 %" in text
    assert "learning rate 0.003 instead of 0.01 (seed 2)." in text
    assert "your run with the change seed 0 2 held-out loss (nats) 0.344 0.061" in text
    assert "The proof (learning rate 0.003 instead of 0.01, seed 3): parameters of your own" in text


def test_a_fix_of_a_regression_is_told_in_the_targets_unit():
    from dataclasses import replace

    base = VERDICTS["regression"]()
    fix = replace(VERDICTS["spirals"]().fix, score_before=0.5, score_after=0.75)
    text = " ".join(Page(render_report(replace(base, fix=fix))).text)
    y = base.y[base.held_out]
    before, after = (words.loss(np.sqrt(share) * y.std()) for share in (0.5, 0.25))
    assert f"held-out RMSE (unit of y) {before} {after}" in " ".join(text.split())


def test_captions_say_what_the_lines_are():
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    assert "both cross-validated on the training rows" in visible("spirals")
    assert "mean loss of networks" in words.lines(replace(base, reference_loss=0.2))


def test_a_penalty_in_the_losses_is_mentioned():
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    for optimizer, expected in (("adam", True), ("adamw", False)):
        recipe = replace(base.recipe, weight_decay=0.1, optimizer=optimizer)
        assert ("the penalty of your recipe" in render_report(replace(base, recipe=recipe))) == (
            expected
        )
    assert "the penalty of your recipe" not in rendered("spirals")


def test_long_sentences_are_set_smaller():
    from dataclasses import replace

    assert '<h1 class="long">' in rendered("spirals")
    assert "<h1>Short.</h1>" in render_report(replace(VERDICTS["spirals"](), sentence="Short."))


@pytest.mark.parametrize(("size", "said"), [(None, False), (179, False), (180, True), (9999, True)])
def test_a_batch_of_all_rows_is_mentioned(size, said):
    from dataclasses import replace

    base = VERDICTS["spirals"]()
    note = words.every_row(replace(base, recipe=replace(base.recipe, batch_size=size)))
    assert (note is not None) == said
    assert not said or "all 180 training rows" in note


def test_decision_regions_are_drawn_for_two_columns_only():
    from dataclasses import replace

    verdict = VERDICTS["spirals"]()
    assert "Decision regions" in rendered("spirals")
    assert "The same architecture with the better parameters" in rendered("spirals")
    wide = replace(verdict, raw_X=np.hstack([verdict.raw_X, verdict.raw_X]))
    assert "Decision regions" not in render_report(wide)


def test_an_unfinished_diagnosis_says_what_was_not_run():
    text = visible("regression")
    assert "The time budget of 60 s ended the diagnosis after the stage “recipe”." in text
    assert "Not run: same architecture, wider." in text
    assert "The network has no hidden layer" in text
    assert "0.919, ½ log 2π, for an exact prediction" in text


def test_an_interrupted_diagnosis_says_so():
    from dataclasses import replace

    verdict = replace(VERDICTS["spirals"](), stage="recipe (interrupted)")
    assert "You interrupted the diagnosis after the stage “recipe”." in words.unfinished(verdict)
    assert words.unfinished(VERDICTS["spirals"]()) is None


def test_a_diagnosis_beyond_its_budget_says_what_took_so_long():
    late = replace(VERDICTS["regression"](), budget=5.0, seconds=9.24)
    assert "references are always made: 9.24 s. Not run: same" in str(words.unfinished(late))
    assert "always made" not in str(words.unfinished(replace(late, seconds=5.4)))


def test_text_of_the_user_stays_text():
    text = render_report(VERDICTS["hostile"](), command=HOSTILE, witness_file=HOSTILE)
    parsed = Page(text)
    assert not parsed.all("script")
    assert not parsed.all("img")
    assert "<script" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("kind", words.MEANING_OF_KIND)
def test_every_kind_has_a_meaning_and_advice(kind):
    from dataclasses import replace

    from pellucid.diagnosis.verdict import KINDS

    assert set(words.MEANING_OF_KIND) == set(words.NEXT_STEP) == set(KINDS)
    verdict = replace(VERDICTS["regression"](), kind=kind)
    assert words.next_step(verdict) == words.NEXT_STEP[kind]
    assert words.MEANING_OF_KIND[kind] in visible("regression")


def test_a_change_chosen_on_the_held_out_rows_comes_with_a_caveat():
    from dataclasses import replace

    verdict = VERDICTS["spirals"]()
    assert words.fix_caveat(verdict) is None
    assert words.fix_caveat(replace(verdict, kind="overfitting")) is None  # cross-validated
    assert "smaller gain" in words.fix_caveat(replace(verdict, kind="undecided"))


def test_the_same_verdict_gives_the_same_file(tmp_path):
    path = write_report(VERDICTS["spirals"](), tmp_path / "report.html")
    first = path.read_bytes()
    assert write_report(VERDICTS["spirals"](), str(path)).read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_report_is_known_by_its_mark(tmp_path):
    from pellucid.report import is_report

    path = write_report(VERDICTS["hostile"](), tmp_path / "report.html")
    assert is_report(path)
    path.write_text("<!DOCTYPE html><title>Pellucid</title>")
    assert not is_report(path)


def test_a_read_only_report_is_not_replaced(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    path.chmod(0o444)
    with pytest.raises(InvalidFile, match="read-only"):
        write_report(VERDICTS["regression"](), path)
    assert path.read_text() == "mine"


@pytest.mark.slow
def test_reports_of_equal_verdicts_differ_in_their_seconds_alone():
    from dataclasses import replace

    first = render_report(VERDICTS["spirals"]())
    second = render_report(replace(VERDICTS["spirals"](), seconds=45.6))
    assert first != second
    assert first.replace("12.3 s of 60 s", "45.6 s of 60 s") == second


def test_a_report_that_cannot_be_written_is_a_readable_error(tmp_path):
    with pytest.raises(InvalidFile, match="cannot write"):
        write_report(VERDICTS["regression"](), tmp_path / "missing" / "report.html")
    assert not list(tmp_path.iterdir())


def test_the_command_line_repeats_the_recipe():
    assert command_line(VERDICTS["spirals"]()) == (
        "pellucid diagnose spirals --target class --hidden 8,8,8 --activation relu --optimizer "
        "adam --learning-rate 0.01 --steps 3000 --standardize --seed 0 --budget 60"
    )
    assert "--hidden none" in command_line(VERDICTS["regression"]())


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.12345, "0.123"),
        (np.nan, "–"),
        (np.inf, "infinite"),
        (4.2e-9, "4.2e-09"),
        (303_456, "303,000"),
        (999_999_999, "1,000,000,000"),
        (1.24e14, "1.2e+14"),
    ],
)
def test_losses_are_written_with_three_digits(value, written):
    assert words.loss(value) == written


@pytest.mark.parametrize(
    ("value", "name", "written"),
    [
        (0.98765, "accuracy", "98.8 %"),
        (0.98765, "R2", "0.988"),
        (-99.9, "R2", "-99.900"),
        (-2.4e37, "R2", "< -100"),
        (-np.inf, "R2", "–"),
    ],
)
def test_scores_stay_short(value, name, written):
    assert words.score(value, name) == written


def test_the_error_in_the_targets_unit_follows_from_r2():
    verdict = VERDICTS["regression"]()
    X, y = verdict.raw_X[verdict.held_out], verdict.y[verdict.held_out]
    error = verdict.network(X)[:, 0] - y
    r2 = 1 - np.mean(error**2) / np.mean((y - y.mean()) ** 2)
    assert words.rmse(verdict, r2) == words.loss(np.sqrt(np.mean(error**2)))
    assert words.rmse(verdict, np.nan) == "–"


@pytest.mark.slow
def test_commands_name_the_table_as_it_was_typed():
    verdict = next(v for v in (make() for make in VERDICTS.values()) if v.fix is not None)
    assert "pellucid train 'my data.csv' " in words.fix_command(verdict, "my data.csv")
    assert "my data.csv" in render_report(verdict, source="my data.csv")
    assert "pellucid train spirals " in words.fix_command(verdict)
    assert "pellucid train data.csv " in words.fix_command(replace(verdict, data_name="arrays"))
