"""The measurements, one function a part of the table, each in a process of its own."""

from collections.abc import Callable
from functools import partial

from pellucid import local_regions

from . import ours, peers
from .comparing import check, compare
from .memory import beyond_the_arrays, growth_while_counting
from .ours import ALL, COUNT, FACETS, PIECES, POLYGONS, VERTICES
from .peers import AFFINITREE, REGIONCAM, RELUCENT
from .rows import Part, Row
from .timing import in_turn, once
from .works import Work, digit_classifier, he_normal, on_a_segment, stored, tent


def measure_plane(part: Part) -> None:
    """Two inputs, on the square."""
    names = ("a_he_32x32",) if part.quick else ("a_he_64x64x64", "a_he_128x128", "a_he_256x256")
    asked = {(POLYGONS, REGIONCAM): 30, (ALL, REGIONCAM): 10, (POLYGONS, AFFINITREE): 1000}
    for name in names:
        work = stored(name)
        against = (REGIONCAM, AFFINITREE) if name == "a_he_64x64x64" else (REGIONCAM,)
        timed = compare(part, work, (POLYGONS, ALL, COUNT), against, asked)
        seconds, n = timed[POLYGONS].seconds, timed[POLYGONS].result
        if name == "a_he_128x128":
            part.rate(work, POLYGONS, n, seconds, 2e6)
        if name != "a_he_256x256":
            first_regions(part, work, n, seconds)


def first_regions(part: Part, work: Work, n: int, seconds: float) -> None:
    """Against the start of relucent's search, by regions a second: all of it takes minutes."""
    at_most = 5 if part.quick else 100
    text = (
        f"{peers.named(RELUCENT)}, its first {at_most} regions with its start, by regions a second"
    )
    search = peers.relucent_of(work, at_most)
    theirs = ratio = None
    if search is not None:
        done = once(search)
        theirs = done.seconds
        ratio = (theirs / done.result) / (seconds / n)
    of = {"against": text, "theirs": theirs, "measured": ratio, "asked": 1000}
    part.add(work, POLYGONS, n, seconds, **of)


def measure_deep(part: Part) -> None:
    """Six hidden layers."""
    work = stored("a_he_8x8x8" if part.quick else "a_he_64x64x64x64x64x64")
    asked = {(POLYGONS, REGIONCAM): 30, (ALL, REGIONCAM): 10}
    timed = compare(part, work, (POLYGONS, ALL, COUNT), (REGIONCAM,), asked)
    part.rate(work, POLYGONS, timed[POLYGONS].result, timed[POLYGONS].seconds, 1e6)


def measure_small(part: Part) -> None:
    """The call from Python costs as much as the search."""
    for name in ("a_he_8x8x8", "a_he_24"):
        work = stored(name)
        against = (REGIONCAM, AFFINITREE) if part.quick else (REGIONCAM, AFFINITREE, RELUCENT)
        timed = compare(part, work, (POLYGONS, COUNT), against, {(POLYGONS, REGIONCAM): 1})
        seconds, n = timed[POLYGONS].seconds, timed[POLYGONS].result
        limit = {"measured": seconds, "unit": "s", "asked": 1e-4, "at_most": True}
        part.add(work, POLYGONS, n, seconds, against="100 us from Python", **limit)


#: networks in a box: how many times affinitree's speed, and regions a second
BOXES: dict[str, tuple[float | None, float | None]] = {
    "c_he_3in_16x16": (300, 2e6),
    "c_he_3in_32": (300, 2e6),
    "c_he_4in_16x16": (300, None),
    "c_he_5in_8x8": (300, None),
    "c_he_5in_16x16": (300, None),
    "c_he_6in_8x8": (40, 2e5),
    "c_he_6in_16x16": (None, 2e5),
}


def measure_box(part: Part) -> None:
    """Three to six inputs: vertices are counted in apart from what the call returns."""
    names = ["c_he_3in_8x8"] if part.quick else list(BOXES)
    for name in names:
        work, (times, rate) = stored(name), BOXES.get(name, (300, 2e6))
        asked = {} if times is None else {(FACETS, AFFINITREE): times}
        against = () if times is None else (AFFINITREE,)
        timed = compare(part, work, (FACETS, VERTICES, COUNT), against, asked)
        n = timed[FACETS].result
        if rate:
            part.rate(work, FACETS, n, timed[FACETS].seconds, rate)
        if not against:
            for what in (VERTICES, COUNT):
                seconds = timed[what].seconds
                part.add(work, what, n, seconds, measured=n / seconds, unit="/s")


def measure_high(part: Part) -> None:
    """Eight and ten inputs."""
    asked = {"c_he_8in_8x8": 4.0, "c_he_10in_8x8": 10.0}
    for name in ["c_he_4in_8x8"] if part.quick else asked:
        work = stored(name)
        wanted = {(FACETS, AFFINITREE): asked.get(name, 1.0)}
        compare(part, work, (FACETS, VERTICES, COUNT), (AFFINITREE,), wanted)


def measure_segment(part: Part) -> None:
    """A line through many inputs, and a line with a million pieces."""
    compare(part, stored("b_he_10in_64x64x64x64"), (PIECES, COUNT), (REGIONCAM,), {})
    if not part.quick:
        wide = on_a_segment([784, 256, 256, 10])
        compare(part, wide, (PIECES, COUNT), (REGIONCAM,), {(PIECES, REGIONCAM): 1})
    for k in (5, 10) if part.quick else (10, 15, 20):
        work = tent(k)
        n = check(part, work)
        done = in_turn({COUNT: partial(ours.count, work)}, 1, part.patience)[COUNT]
        pieces = {"measured": float(n), "unit": "pieces", "asked": float(2**k)}
        part.add(work, COUNT, n, done.seconds, against=f"2^{k} pieces", **pieces)


def measure_memory(part: Part) -> None:
    """Fresh processes: what the call takes beyond the arrays that it returns."""
    names = ("a_he_32x32",) if part.quick else ("a_he_256x256", "c_he_5in_16x16", "c_he_6in_8x8")
    for name in names:
        n, arrays, beyond = beyond_the_arrays(name)
        text = f"its arrays, {arrays / n:.0f} B a region"
        of = {"measured": beyond / n, "unit": "B a region", "asked": 200.0, "at_most": True}
        part.rows.append(Row(stored(name).name, "all that the call returns", n, None, text, **of))
    for width in (32, 64) if part.quick else (256, 1024):
        n, bytes_more = growth_while_counting(width)
        of = {"measured": bytes_more / 2**20, "unit": "MiB", "asked": 32.0, "at_most": True}
        work = he_normal([2, width, width, 1])
        part.rows.append(Row(work.name, COUNT, n, None, "memory before the call", **of))


def measure_threads(part: Part) -> None:
    """Two threads on two processors."""
    works: list[tuple[Work, str]] = [(he_normal([2, 64, 64, 1]), POLYGONS)]
    if not part.quick:
        wide = he_normal([2, 512, 512, 1])
        works = [(wide, POLYGONS), (wide, COUNT), (stored("c_he_6in_32"), COUNT)]
    for work, what in works:
        call = ours.RETURNED[what]
        both = {"one": partial(call, work, 1), "two": partial(call, work, 2)}
        timed = in_turn(both, part.repeats, part.patience)
        one, two = timed["one"].seconds, timed["two"].seconds
        if timed["one"].result != timed["two"].result:
            part.wrong.append(f"{work.name}: one thread and two count differently")
        of = {"against": "Pellucid, one thread", "theirs": one, "measured": one / two}
        part.add(work, f"{what}, two threads", timed["one"].result, two, asked=1.7, **of)


def measure_local(part: Part) -> None:
    """Regions around images, in 784 dimensions: each is proved to occur."""
    network, images = digit_classifier()
    each = 20 if part.quick else 1000
    images = images[:2] if part.quick else images

    def search() -> int:
        found = [local_regions(network, x, limit=each) for x in images]
        if not all(some.certified and len(some) == each for some in found):
            part.wrong.append("around an image there are fewer regions, or one is not proved")
        return sum(map(len, found))

    done = once(search)
    work = f"784-30-20-10, trained: {each:,} regions around each of {len(images)} images"
    limit = {"measured": done.seconds, "unit": "s", "asked": 60.0, "at_most": True}
    part.rows.append(
        Row(work, "patterns and points", done.result, done.seconds, "a minute", **limit)
    )


def measure_large(part: Part) -> None:
    """More than a million regions, counted; then ever wider networks, up to a minute."""
    width = 64 if part.quick else 1024
    work = he_normal([2, width, width, 1])
    timed = in_turn({COUNT: partial(ours.count, work)}, part.repeats, part.patience)[COUNT]
    limit = {"measured": timed.seconds, "unit": "s", "asked": 3.0, "at_most": True}
    part.add(work, COUNT, timed.result, timed.seconds, against="3 s", **limit)
    _, _, peak = growth_while_counting(width, whole=True)
    of = {"measured": peak / 2**20, "unit": "MiB", "asked": 300.0, "at_most": True}
    part.rows.append(Row(work.name, COUNT, timed.result, None, "300 MiB in all", **of))
    largest_within(part, 0.5 if part.quick else 60.0, width)


def largest_within(part: Part, seconds: float, width: int) -> None:
    """Widths grow by half or a third in turn, until one takes too long."""
    last = None
    while True:
        width = width * 3 // 2 if width & (width - 1) == 0 else width * 4 // 3
        work = he_normal([2, width, width, 1])
        done = once(partial(ours.regions, work, count_only=True, seconds=seconds))
        found, taken = done.result, done.seconds
        if not found.complete or taken > seconds:
            break
        last = work, found.n_activation_regions, taken
    if last:
        work, n, taken = last
        limit = {"measured": taken, "unit": "s", "asked": seconds, "at_most": True}
        text = f"{seconds:g} s; the largest network tried that is counted so"
        part.add(work, COUNT, n, taken, against=text, **limit)


MEASURES: dict[str, Callable[[Part], None]] = {
    "plane": measure_plane,
    "deep": measure_deep,
    "small": measure_small,
    "box": measure_box,
    "high": measure_high,
    "segment": measure_segment,
    "memory": measure_memory,
    "threads": measure_threads,
    "local": measure_local,
    "large": measure_large,
}
