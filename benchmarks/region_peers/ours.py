"""Pellucid's side: what is asked for in the timed call, by its name in the table."""

from collections.abc import Callable

from pellucid import LinearRegions, linear_regions

from .works import Work


def regions(work: Work, threads: int = 1, **options) -> LinearRegions:
    return linear_regions(work.network, work.domain, threads=threads, **options)


def count(work: Work, threads: int = 1) -> int:
    """Nothing is kept."""
    return regions(work, threads, count_only=True).n_activation_regions


def call(work: Work, threads: int = 1) -> int:
    return len(regions(work, threads))


def with_vertices(work: Work, threads: int = 1) -> int:
    found = regions(work, threads)
    assert found.vertices is not None
    return len(found)


def with_all(work: Work, threads: int = 1) -> int:
    found = regions(work, threads)
    assert found.vertices is not None
    assert len(found.slope) == len(found.intercept) == len(found)
    assert found.adjacency is not None
    return len(found)


COUNT = "count"
POLYGONS = "patterns, polygons"
FACETS = "patterns, facets"
VERTICES = "patterns, facets, vertices"
PIECES = "patterns, breakpoints"
ALL = "patterns, polygons, slopes, adjacency"
RETURNED: dict[str, Callable[..., int]] = {
    COUNT: count,
    POLYGONS: call,
    PIECES: call,
    FACETS: call,
    VERTICES: with_vertices,
    ALL: with_all,
}
