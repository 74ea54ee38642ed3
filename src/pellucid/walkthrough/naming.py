"""What everything in a document is called: units, rows, matrices and numbers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._shapes import Array
from .blocks import Matrix
from .dialects import DIALECTS, Letters
from .losses import LOSSES

if TYPE_CHECKING:
    from .worked import WorkedPass


class Naming:
    """What everything in one pass is called, and how its numbers are written."""

    def __init__(self, work: "WorkedPass", dialect: str, notation: str, digits: int, limit: int):
        self.work, self.digits, self.limit = work, digits, limit
        self.dialect = DIALECTS[dialect]
        self.network = work.network
        self.depth = len(self.network.weights)
        self.row = notation == "row"
        self.batch = not work.single
        output_sigma = work.network.output_activation
        self.activated = output_sigma.name != "identity"
        self.letters = Letters(self.dialect, self.row, self.batch, self.depth, self.activated)
        self.sigmas = [str(sigma) for sigma in (*self.network.activations, output_sigma)]
        form = LOSSES.get(work.likelihood.name)
        d_out = self.network.widths[-1]
        self.form = form and form(self.letters, work.likelihood, d_out, digits)

    # ---- names and numbers

    def heading(self) -> tuple[str, str]:
        """The title, and a line below it."""
        work, widths = self.work, self.network.widths
        rows = "one example" if work.single else f"a batch of {work.n} examples"
        parameters = sum(W.size for W in self.network.weights) + sum(widths[1:])
        kinds = ", ".join(dict.fromkeys(self.sigmas[:-1])) or "linear"
        numbers = "fractions, as far as the functions allow" if work.exact else "floats of 64 bits"
        return (
            f"Worked pass of {rows} through a {'-'.join(map(str, widths))} network",
            f"{kinds}; {parameters:,} parameters; {work.likelihood.name} likelihood; {numbers}. "
            "Indices in brackets begin at 0.",
        )

    def entry(self, letter: str, *index: object) -> str:
        """One entry of a letter without layer."""
        return self.dialect.entry(self.dialect.letter(letter, None, self.row), *index)

    def weights(self, k: int) -> Array:
        """W of layer k as this notation has it: (outputs, inputs), or its transpose."""
        W = self.network.weights[k - 1]
        return W.T if self.row else W

    def units(self, k: int) -> tuple[str, ...]:
        """Names of the units of layer k; those of layer 0 are the inputs."""
        work, count = self.work, self.network.widths[k]
        names = work.feature_names if k == 0 else work.classes if k == self.depth else None
        if names is not None and len(names) == count:
            return tuple(self.dialect.words(name) for name in names)
        if self.batch:
            what = "input" if k == 0 else "output" if k == self.depth else "unit"
            return tuple(self.dialect.words(f"{what} {j}") for j in range(count))
        letter = self.letters.outputs if k == self.depth else self.letters.h(k)
        return tuple(self.dialect.entry(letter, j) for j in range(count))

    def examples(self) -> tuple[str, ...]:
        """Names of the rows of a batch."""
        return tuple(self.dialect.words(f"row {i}") for i in range(self.work.n))

    def of_rows(self, symbol: str, values: Array, k: int) -> Matrix:
        """What each example has for each unit of layer k; of a single example a vector."""
        columns = self.units(k)
        if self.batch:
            return Matrix(symbol, values.shape, values, self.examples(), columns)
        return Matrix(symbol, values.shape[1:], values, None, columns, not self.row)

    def of_weights(self, symbol: str, values: Array, k: int) -> Matrix:
        """Weights of layer k, or their gradient, as stored or transposed."""
        if self.row:
            return Matrix(symbol, values.T.shape, values.T, self.units(k - 1), self.units(k))
        return Matrix(symbol, values.shape, values, self.units(k), self.units(k - 1))

    def of_biases(self, symbol: str, values: Array, k: int) -> Matrix:
        """A bias of layer k, or its gradient."""
        column = not self.row and not self.batch
        return Matrix(symbol, values.shape, values[None], None, self.units(k), column)

    def number(self, value: Any) -> str:
        """A number in the dialect."""
        return self.dialect.number(value, self.digits)

    def _product(self, values: Iterable[Any]) -> str:
        return self.dialect.dot.join(self.dialect.factor(v, self.digits) for v in values)
