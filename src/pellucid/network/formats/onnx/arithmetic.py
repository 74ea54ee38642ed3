"""Sums, products and other operators that work entry by entry."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array
from .maps import Affine
from .operators import Operator, common_shape, constant, required, shape_text
from .values import Constant, Formula, Head, Value, argument, composed
from .work import Work

Inputs = Sequence[Value | None]


def _pair(op: Operator, inputs: Inputs) -> tuple[Value, Value]:
    """Both inputs; before opset 7 the second one may be laid along given axes of the first."""
    a, b = required(inputs, 0), required(inputs, 1)
    if op.opset < 7 and op.get("broadcast", 0) and "axis" in op.attributes:
        rank, axis = len(a.shape), op.get("axis", 0)
        axis = axis + rank if axis < 0 else axis
        missing = rank - axis - len(b.shape)
        if isinstance(b, Constant) and 0 <= missing <= 32:
            b = Constant(b.array.reshape(*b.shape, *(1,) * missing), b.name)
    return a, b


def _fitted(work: Work, a: Value, b: Value) -> tuple[int, ...]:
    """The shape of the result, accounted for; rows of a batch must stay rows."""
    shape = common_shape(a.shape, b.shape)
    both = not isinstance(a, Constant) and not isinstance(b, Constant)
    if both and len(a.shape) != len(b.shape):
        work.mixes_rows()
    if shape != a.shape or shape != b.shape:
        work.spend_shape(shape)
    return shape


def binary(
    operate: Callable,
    affine: Callable[[Work, Value, Value, tuple[int, ...]], Affine | None],
    work: Work,
    op: Operator,
    inputs: Inputs,
) -> Value:
    """An operator of two tensors: of constants, of formulas of one value, or of affine tensors."""
    a, b = _pair(op, inputs)
    shape = _fitted(work, a, b)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(_computed(operate, a.array, b.array), a.name)

    def otherwise() -> Affine:
        return _or_refused(affine(work, a, b, shape), a, b)

    if isinstance(a, Affine) and isinstance(b, Affine) and operate in (np.add, np.subtract):
        return otherwise()
    if isinstance(a, Constant | Affine) and isinstance(b, Constant | Affine):
        result = affine(work, a, b, shape)
        if result is not None:
            is_bias = operate is np.add or result is a or result is b
            return result if is_bias else result.noted(f"{op.place} into an affine layer")
    return _formula(operate, a, b, shape, otherwise) or otherwise()


def _or_refused(result: Affine | None, a: Value, b: Value) -> Affine:
    if result is not None:
        return result
    if isinstance(a, Constant):
        raise UnsupportedLayer("divides by a value that depends on the inputs.")
    raise UnsupportedLayer(
        "multiplies or divides two values that depend on the inputs, which is not piecewise linear."
    )


def _formula(
    operate: Callable, a: Value, b: Value, shape: tuple[int, ...], otherwise: Callable[[], Affine]
) -> Formula | None:
    """The result as a function of each entry of one tensor, if it is one."""
    parts: list[Formula | float] = []
    for value in (a, b):
        if isinstance(value, Constant):
            number = value.number()
            if number is None:
                return None
            parts.append(number)
        elif isinstance(value, Head) or value.shape != shape:
            return None
        else:
            parts.append(argument(value))
    return composed(operate, *parts, affine=otherwise)


def _computed(operate: Callable, *arrays: Array) -> Array:
    try:
        with np.errstate(all="ignore"):
            return np.asarray(operate(*arrays))
    except (TypeError, ValueError):  # truth values subtracted, integers to a negative power
        kinds = " and ".join(f"{array.dtype} {shape_text(array.shape)}" for array in arrays)
        raise InvalidFile(f"cannot be computed of the constants {kinds}.") from None


# ---- the four of them


def _sum(sign: int, work: Work, a: Value, b: Value, shape: tuple[int, ...]) -> Affine:
    """a + b or a - b."""
    if isinstance(b, Constant):
        return work.broadcast(work.affine(a), shape).shifted(_spread(work, b, shape) * sign)
    right = work.broadcast(work.affine(b), shape)
    if sign < 0:
        right = work.times(right, np.full(right.size, -1.0))
    if isinstance(a, Constant):
        return right.shifted(_spread(work, a, shape))
    return work.plus(work.broadcast(work.affine(a), shape), right)


def _spread(work: Work, c: Constant, shape: tuple[int, ...]) -> Array:
    """The constants as one number for each entry."""
    return np.broadcast_to(work.finite(c), shape).ravel()


def _product(work: Work, a: Value, b: Value, shape: tuple[int, ...]) -> Affine | None:
    """a b, where one is constant."""
    if isinstance(a, Constant):
        a, b = b, a
    if not isinstance(b, Constant):
        return None
    return work.times(work.broadcast(work.affine(a), shape), _spread(work, b, shape))


def _quotient(work: Work, a: Value, b: Value, shape: tuple[int, ...]) -> Affine | None:
    """a / b, where b is constant."""
    if not isinstance(b, Constant):
        return None
    divisors = _spread(work, b, shape)
    if not divisors.all():
        raise InvalidFile(f"divides by the zero in {b.name!r:.80}.")
    factors = 1 / divisors.astype(np.float64)
    return work.times(work.broadcast(work.affine(a), shape), factors)


def _divided(a: Array | float, b: Array | float) -> Array | float:
    """a / b; whole numbers are cut towards zero, as in C."""
    if np.result_type(a, b).kind == "f":
        return a / b
    if not np.all(b):
        raise InvalidFile("divides whole numbers by zero.")
    return np.asarray(np.trunc(a / b)).astype(np.int64)


def negative(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Neg."""
    value = required(inputs, 0)
    if isinstance(value, Constant):
        return Constant(_computed(np.negative, value.array), value.name)

    def negated() -> Affine:
        z = work.affine(value)
        return work.times(z, np.full(z.size, -1.0))

    if isinstance(value, Formula):
        return composed(np.negative, value, affine=negated) or negated()
    return negated()


def several(mean: bool, work: Work, op: Operator, inputs: Inputs) -> Value:
    """Sum or Mean of any number of tensors."""
    total = required(inputs, 0)
    for i in range(1, len(inputs)):
        total = OPERATORS_OF_TWO["Add"](work, op, [total, required(inputs, i)])
    if not mean or len(inputs) == 1:
        return total
    count = Constant(np.array(float(len(inputs))), "the number of inputs")
    return OPERATORS_OF_TWO["Div"](work, op, [total, count])


OPERATORS_OF_TWO: dict[str, Callable[[Work, Operator, Inputs], Value]] = {
    "Add": partial(binary, np.add, partial(_sum, 1)),
    "Sub": partial(binary, np.subtract, partial(_sum, -1)),
    "Mul": partial(binary, np.multiply, _product),
    "Div": partial(binary, _divided, _quotient),
}


# ---- one entry at a time, towards an activation


def step(function: Callable[[Array], Array], work: Work, op: Operator, inputs: Inputs) -> Value:
    """Exp, Erf and the like: of a constant, or a step of a formula that is an activation."""
    value = required(inputs, 0)
    if isinstance(value, Constant):
        return Constant(_computed(function, value.array), value.name)
    if isinstance(value, Head):
        return _of_head(op, value)

    def refuse() -> Affine:
        raise UnsupportedLayer("is applied to a value that depends on the inputs: no activation.")

    return composed(function, argument(value), affine=refuse) or refuse()


def _of_head(op: Operator, head: Head) -> Head:
    if op.kind == "Log" and head.kind == "softmax":
        return Head(head.logits, "log_softmax")
    raise UnsupportedLayer("reads a softmax, which must be at the very end.")


def power(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Pow with a constant exponent."""
    base, exponent = required(inputs, 0), constant(inputs, 1, "exponents")
    if isinstance(base, Constant):
        common_shape(base.shape, exponent.shape)
        work.spend(base.array.size * exponent.array.size)
        return Constant(_computed(np.power, base.array, exponent.array), base.name)
    number = exponent.number()
    if number is None or isinstance(base, Head):
        raise UnsupportedLayer("raises values that depend on the inputs to several powers.")
    return step(lambda x: np.power(x, number), work, op, [base])


def _erf(x: Array) -> Array:
    from scipy.special import erf

    return erf(x)


STEPS: dict[str, Callable[[Array], Array]] = {
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Erf": _erf,
    "Reciprocal": lambda x: 1 / x,
}


# ---- comparisons


def compare(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Greater, Less and the like: of constants, or of a tensor with one number."""
    a, b = required(inputs, 0), required(inputs, 1)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return on_constants(work, op, inputs)
    pair = (a, b) if isinstance(b, Constant) else (b, a)
    value, bound = pair
    number = bound.number() if isinstance(bound, Constant) else None
    if not isinstance(value, Affine) or number is None:
        raise UnsupportedLayer("compares values that depend on the inputs, which may jump.")
    formula = argument(value)
    offset, end = formula.function(np.array([0.0, 1.0])).tolist()
    parts = (number, formula) if isinstance(a, Constant) else (formula, number)

    def refuse() -> Affine:
        raise UnsupportedLayer("compares values that depend on the inputs, which may jump.")

    operate = _ON_CONSTANTS[op.kind]
    result = composed(lambda u, v: np.where(operate(u, v), 1.0, 0.0), *parts, affine=refuse)
    if result is None or end == offset:
        return refuse()
    result.breaks |= {(number - offset) / (end - offset)}
    return result


def where(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Where: of constants, or two branches of an activation such as softplus beyond 20."""
    values = [required(inputs, i) for i in range(3)]
    if all(isinstance(value, Constant) for value in values):
        return on_constants(work, op, inputs)

    def refuse() -> Affine:
        raise UnsupportedLayer("chooses between values by the inputs, which is no activation.")

    shape = values[0].shape
    parts: list[Formula | float | None] = []
    for value in values:
        if isinstance(value, Constant):
            parts.append(value.number())
        elif isinstance(value, Head) or value.shape != shape:
            return refuse()
        else:
            parts.append(argument(value))
    if any(part is None for part in parts):
        return refuse()
    chosen = composed(np.where, *(part for part in parts if part is not None), affine=refuse)
    return chosen or refuse()


# ---- constants only

_ON_CONSTANTS: dict[str, Callable[..., Array]] = {
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.round,
    "Not": np.logical_not,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Mod": np.mod,
    "Where": np.where,
    "Sin": np.sin,
    "Cos": np.cos,
}


def on_constants(work: Work, op: Operator, inputs: Inputs) -> Value:
    """What bends or jumps, of constants only."""
    values = [required(inputs, i) for i in range(len(inputs))]
    if not all(isinstance(value, Constant) for value in values):
        raise UnsupportedLayer("is applied to values that depend on the inputs: no activation.")
    arrays = [value.array for value in values if isinstance(value, Constant)]
    shape = common_shape(*(array.shape for array in arrays))
    work.spend_shape(shape)
    return Constant(_computed(_ON_CONSTANTS[op.kind], *arrays), f"a {op.kind} of constants")


ARITHMETIC: dict[str, Callable[[Work, Operator, Inputs], Value]] = {
    **OPERATORS_OF_TWO,
    "Neg": negative,
    "Sum": partial(several, False),
    "Mean": partial(several, True),
    "Pow": power,
    **{kind: partial(step, function) for kind, function in STEPS.items()},
    **dict.fromkeys(_ON_CONSTANTS, on_constants),
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), compare),
    "Where": where,
}
