"""The domain that `--box`, `--slice` or `--line` describe."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._errors import InvalidInput

if TYPE_CHECKING:
    from .._shapes import Array
    from ..regions import Box, Plane, Segment
    from ..regions.domains import Domain

MARGIN = 0.25  # around three points, in units of the longer side


class Asked:
    """The points on the command line."""

    def __init__(
        self,
        box: Sequence[str] | None,
        slice: Sequence[str] | None,
        line: Sequence[str] | None,
        extent: Sequence[str] | None,
    ):
        self.options = {
            "--box": _words(box),
            "--slice": _words(slice),
            "--line": _words(line),
        }
        self.extent = _words(extent)
        self.marks: dict[str, Sequence[float] | Array] = {}  # to be named in a picture
        given = [name for name, words in self.options.items() if words]
        if len(given) != 1:
            told = "none is given" if not given else f"{' and '.join(given)} are given"
            raise InvalidInput(
                f"{told}; say where to look with one of --box LOW,HIGH ..., --slice A B C and "
                "--line A B."
            )
        self.option = given[0]
        if self.extent and self.option != "--slice":
            raise InvalidInput(f"--extent belongs to --slice; leave it out with {self.option}.")
        self._check_number()

    @property
    def words(self) -> list[str]:
        """The points of the option that is given."""
        return self.options[self.option]

    @property
    def dimension(self) -> int | None:
        """Dimensions of the domain; None for one pair of --box, which is for every input."""
        if self.option == "--box":
            return len(self.words) if len(self.words) > 1 else None
        return {"--slice": 2, "--line": 1}[self.option]

    @property
    def needs_rows(self) -> bool:
        """Whether a point is the row of a table."""
        return any(word.startswith("@") for word in self.words)

    def _check_number(self) -> None:
        wanted = {"--slice": 3, "--line": 2}.get(self.option)
        if wanted and len(self.words) != wanted:
            what = "three points" if wanted == 3 else "two points"
            raise InvalidInput(
                f"{self.option} has {len(self.words)} point{'s' if len(self.words) != 1 else ''}; "
                f"it needs {what}, each as numbers with commas between them."
            )
        if len(self.extent) > 2:
            raise InvalidInput(
                f"--extent has {len(self.extent)} values; it needs one number, or LOW,HIGH for "
                "each axis."
            )

    def domain(self, d_in: int, rows: "Array | None") -> "Domain":
        """The domain in the inputs of the network; @3 is a row of `rows`."""
        make = {"--box": self._box, "--slice": self._slice, "--line": self._line}
        return make[self.option](d_in, rows)

    def _box(self, d_in: int, rows: "Array | None") -> "Box":
        from ..regions import Box

        pairs = [_numbers(word, "--box", 2, "LOW,HIGH") for word in self.words]
        if len(pairs) == 1:
            pairs *= d_in
        if len(pairs) != d_in:
            raise InvalidInput(
                f"--box has {len(pairs)} pairs; the network has {d_in} inputs, and the box needs "
                "LOW,HIGH for each, or once for all."
            )
        return Box(*zip(*pairs, strict=True))

    def _line(self, d_in: int, rows: "Array | None") -> "Segment":
        from ..regions import Segment

        return Segment(*(self._point(word, d_in, rows) for word in self.words))

    def _slice(self, d_in: int, rows: "Array | None") -> "Plane":
        from ..regions import Plane

        a, b, c = (self._point(word, d_in, rows) for word in self.words)
        if not self.extent:
            self.marks = {"A": a, "B": b, "C": c}
            return Plane.through(a, b, c, MARGIN)
        if len(self.extent) == 1 and "," not in self.extent[0]:
            (r,) = _numbers(self.extent[0], "--extent", 1, "one number")
            return Plane(a, b, c, r)
        extent = [_numbers(word, "--extent", 2, "LOW,HIGH") for word in self.extent]
        return Plane(a, b, c, extent * 2 if len(extent) == 1 else extent)

    def _point(self, word: str, d_in: int, rows: "Array | None") -> "Sequence[float] | Array":
        if not word.startswith("@"):
            return _numbers(word, self.option, d_in, f"{d_in} numbers, one for each input")
        assert rows is not None
        number = word[1:]
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise InvalidInput(f"{self.option}: {word!r:.40} is no row; write @0 for the first.")
        if int(number) >= len(rows):
            raise InvalidInput(
                f"{self.option}: there is no row {number}; the table has rows 0 to {len(rows) - 1}."
            )
        return rows[int(number)]


def _words(values: Sequence[str] | None) -> list[str]:
    """Each word for itself, also where some stand in one quoted argument."""
    return [word for value in values or () for word in (value.split() or [value])]


def _numbers(word: str, option: str, n: int, needs: str) -> list[float]:
    try:
        numbers = [float(part) for part in word.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != n:
        raise InvalidInput(f"{option}: {word!r:.80} is not {needs}, with commas between numbers.")
    return numbers
