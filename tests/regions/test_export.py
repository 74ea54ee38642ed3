"""Files of regions hold what the result holds, bit for bit, and take their place whole."""

import json

import numpy as np
import polars as pl
import pytest
from regions.networks import random_network

from pellucid import Box, InvalidFile, InvalidInput, Plane, Segment, Space, linear_regions
from pellucid.regions import export

DOMAINS = {
    "box": (random_network([2, 9, 9, 2], ["relu", "hardtanh"]), Box([-2, -1], [2, 3])),
    "plane": (random_network([5, 8, 3], "abs"), Plane(np.ones(5), np.eye(5)[0], np.eye(5)[2])),
    "line": (random_network([4, 8, 8, 1]), Segment(np.zeros(4), np.ones(4))),
    "space": (random_network([3, 6, 5, 1]), Box([-1] * 3, [1] * 3)),
    "one region": (random_network([2, 1, 1], "identity"), Box([0, 0], [1, 1])),
}


@pytest.fixture(params=DOMAINS.values(), ids=DOMAINS)
def regions(request):
    return linear_regions(*request.param)


def test_json_reads_back_bit_for_bit(regions, tmp_path):
    regions.to_json(tmp_path / "r.json")
    read = json.loads((tmp_path / "r.json").read_text())
    assert (read["format"], read["version"]) == ("pellucid-regions", 1)
    for name in ("n_activation_regions", "n_linear_regions", "n_affine_maps", "undecided"):
        assert read[name] == getattr(regions, name)
    assert read["certified"] is read["complete"] is True
    assert np.array_equal(np.reshape(read["switches"], (-1, 3)), regions.switches)
    assert np.array_equal(np.reshape(read["adjacency"], (-1, 2)), regions.adjacency)
    assert np.array_equal(read["domain"]["axes"], regions.domain.axes)
    assert len(read["regions"]) == len(regions)
    for one, region in zip(read["regions"], regions, strict=True):
        assert np.array_equal(one["vertices"], region.vertices)
        assert np.array_equal(one["slope"], region.slope)
        assert np.array_equal(one["intercept"], region.intercept)
        assert one["volume"] == region.volume
        assert one["pattern"] == "".join(str(int(bit)) for bit in region.pattern)
        assert one["linear_region"] == regions.linear_region[region.index]
        assert one["facets"] == regions.facets_of(region.index).tolist()


def test_parquet_reads_back_bit_for_bit(regions, tmp_path):
    regions.to_parquet(tmp_path / "r.parquet")
    table = pl.read_parquet(tmp_path / "r.parquet")
    frame = regions.to_frame()
    assert table.select(frame.columns).equals(frame)
    n_bytes = -(-regions.n_switches // 8)
    for i, row in enumerate(table.iter_rows(named=True)):
        assert np.array_equal(
            np.reshape(row["corners"], (-1, regions.domain.dimension)), regions.polytope(i)
        )
        assert row["facets"] == regions.facets_of(i).tolist()
        assert row["pattern"] == regions.packed_patterns[i, :n_bytes].tobytes()
        pairs = regions.adjacency[(regions.adjacency == i).any(axis=1)]
        assert row["neighbours"] == sorted(pairs[pairs != i].tolist())
    about = json.loads(pl.read_parquet_metadata(tmp_path / "r.parquet")["pellucid-regions"])
    assert about["domain"]["kind"] == type(regions.domain).__name__
    assert about["n_activation_regions"] == len(regions)


def test_batches_join(monkeypatch, regions):
    whole = export.json_bytes(regions)
    monkeypatch.setattr(export, "_BATCH", 3)
    assert export.json_bytes(regions) == whole


def test_an_incomplete_result_says_so(tmp_path):
    some = linear_regions(*DOMAINS["box"], limit=4)
    some.to_json(tmp_path / "r.json")
    read = json.loads((tmp_path / "r.json").read_text())
    assert read["complete"] is False
    assert len(read["regions"]) == 4


@pytest.mark.parametrize("write", ["to_json", "to_parquet"])
def test_a_file_is_written_whole_or_not_at_all(write, tmp_path):
    regions = linear_regions(*DOMAINS["box"])
    place = tmp_path / "there"
    place.write_text("before")
    place.chmod(0o444)
    with pytest.raises(InvalidFile, match="it is read-only"):
        getattr(regions, write)(place)
    with pytest.raises(InvalidFile, match="it is a folder"):
        getattr(regions, write)(tmp_path)
    with pytest.raises(InvalidFile, match="cannot write"):
        getattr(regions, write)(str(tmp_path / "no" / "r.json"))
    assert place.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("write", ["to_json", "to_parquet"])
def test_regions_without_vertices_are_refused(write, tmp_path):
    net = random_network([2, 4, 1])
    counted = linear_regions(net, Box([0, 0], [1, 1]), count_only=True)
    with pytest.raises(InvalidInput, match="only a count"):
        getattr(counted, write)(tmp_path / "r")
    with pytest.raises(InvalidInput, match="use a Box"):
        getattr(linear_regions(net, Space(2)), write)(tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_volumes_are_left_out_where_they_cost_too_much(tmp_path, monkeypatch):
    def never(regions):
        raise AssertionError("a volume was computed")

    monkeypatch.setattr("pellucid.regions.geometry.volumes", never)
    solid = linear_regions(random_network([7, 2, 1]), Box([-1] * 7, [1] * 7))
    solid.to_json(tmp_path / "r.json")
    solid.to_parquet(tmp_path / "r.parquet")
    read = json.loads((tmp_path / "r.json").read_text())["regions"]
    assert [one["volume"] for one in read] == [None] * len(solid)
    table = pl.read_parquet(tmp_path / "r.parquet")
    assert table["volume"].is_null().all()
    assert table["volume"].dtype == pl.Float64
    assert table["p_6"].is_not_null().all()


# ---- a plane through three points, as pictures of slices take it


def test_a_plane_through_three_points_is_to_scale():
    a, b, c = np.random.default_rng(0).normal(size=(3, 7))
    plane = Plane.through(a, b, c, margin=0.1)
    assert np.allclose(plane.axes @ plane.axes.T, np.eye(2))
    p = plane.to_coordinates([a, b, c])
    assert np.allclose(plane.to_input(p), [a, b, c])
    assert np.allclose(p[0], 0)
    assert p[1, 0] == pytest.approx(np.linalg.norm(b - a))
    assert p[1, 1] == pytest.approx(0)
    assert p[2, 1] > 0
    low, high = p.min(axis=0), p.max(axis=0)
    room = 0.1 * (high - low).max()
    assert np.allclose([plane.low, plane.high], [low - room, high + room])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (([0, 0], [1, 1], [2, 2]), "lie on one line"),
        (([0, 0], [0, 0], [1, 2]), "lie on one line"),
        (([0, 0], [1, 1, 1], [2, 2]), "different numbers of coordinates"),
        (([0, 0], [np.nan, 1], [2, 2]), "b holds nan"),
        (([-1e308, 0], [1e308, 1], [2, 2]), "b - a holds inf"),
    ],
)
def test_points_that_make_no_plane(points, message):
    with pytest.raises(InvalidInput, match=message):
        Plane.through(*points)
