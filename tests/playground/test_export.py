"""The exported folder: whole or not at all, only what is needed, and no file of anyone is lost."""

import json
import os
from pathlib import Path

import pytest

import pellucid
from pellucid._errors import InvalidFile, InvalidInput
from pellucid.datasets import load_dataset
from pellucid.network import files
from pellucid.playground import export_page, start_document
from pellucid.playground.export import MANIFEST
from pellucid.playground.site import TYPES, page_files

MADE = (MANIFEST, "lessons/index.json", "offline.js", "offline_start.js")
LESSON = {"format": 1, "title": "Mine", "steps": [{"text": "Hello."}]}


def all_files(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_the_folder_has_the_files_of_the_page_and_no_others(tmp_path):
    named = export_page(tmp_path / "a" / "page")
    found = all_files(tmp_path / "a" / "page")
    assert found == set(named)
    assert found == {*page_files(), *MADE}
    assert {Path(name).suffix for name in found} <= set(TYPES)
    assert not [n for n in found if n.endswith((".d.ts", ".test.js", "package.json"))]


def test_own_data_and_lessons_stand_in_the_folder(tmp_path):
    table = load_dataset("moons", n=40, seed=0)
    lessons = {"mine.json": json.dumps(LESSON).encode()}
    export_page(tmp_path / "page", start_document(table=table, lessons=("mine.json",)), lessons)
    start = json.loads((tmp_path / "page/start.json").read_text())
    assert start["table"]["X"] == table.X.tolist()
    assert start["table"]["y"] == table.y.tolist()
    first = json.loads((tmp_path / "page/lessons/index.json").read_text())[0]
    assert first == {"file": "mine.json", "title": "Mine", "about": ""}
    page = (tmp_path / "page/index.html").read_text()
    assert '<meta name="pellucid-start" content="start.json">' in page


def test_an_earlier_export_is_replaced_and_what_it_had_more_goes(tmp_path):
    folder = tmp_path / "page"
    export_page(folder, lessons={"mine.json": json.dumps(LESSON).encode()})
    assert (folder / "lessons/mine.json").exists()
    export_page(folder)
    assert all_files(folder) == {*page_files(), *MADE}


@pytest.mark.parametrize("what", ["foreign", "changed"])
def test_a_file_that_is_not_ours_keeps_the_folder_as_it_is(tmp_path, what):
    folder = tmp_path / "page"
    export_page(folder)
    touched = folder / ("homework.txt" if what == "foreign" else "lessons/rings.json")
    touched.write_text("mine")
    before = {name: (folder / name).stat().st_mtime_ns for name in all_files(folder)}
    with pytest.raises(InvalidFile, match=touched.name):
        export_page(folder)
    assert {name: (folder / name).stat().st_mtime_ns for name in all_files(folder)} == before


def test_a_write_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    written = []

    def failing(self):
        written.append(self.path)
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        return prepare(self)

    prepare = files._Change.prepare
    monkeypatch.setattr(files._Change, "prepare", failing)
    with pytest.raises(InvalidFile, match="no space left"):
        export_page(tmp_path / "a" / "page")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_is_no_folder_is_refused(tmp_path, place):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidFile, match=r"folder|make"):
        export_page(tmp_path / place)
    assert os.listdir(tmp_path) == ["file"]


def test_a_lesson_never_replaces_one_of_the_page():
    with pytest.raises(InvalidInput, match=r"rings\.json"):
        export_page("nowhere", lessons={"rings.json": b"{}"})


def test_networks_of_a_start_document_come_back_as_they_are():
    from pellucid.playground.documents import network_from

    network = pellucid.initialize([2, 4, 3], activation="leaky_relu", seed=3)
    document = start_document(network=network, name="mine")["network"]
    again = network_from(json.loads(json.dumps(document)))
    assert again.widths == network.widths
    assert again.activations == network.activations
    for a, b in zip(again.weights, network.weights, strict=True):
        assert (a == b.astype("float32")).all()
