"""The table of optimizers. The updates themselves are in `_kernels` (compiled, and NumPy twin)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Optimizer:
    """One member of the family: its name, source, which settings it reads, how it decays weights.

    `coupled_decay` says that weight decay is the gradient of a penalty on the objective,
    `weight_decay / 2 * |parameters|^2`; decoupled decay shrinks the parameters directly.
    """

    name: str
    source: str
    reads: tuple[str, ...]
    coupled_decay: bool


OPTIMIZERS: dict[str, Optimizer] = {
    o.name: o
    for o in (
        Optimizer("sgd", "Robbins and Monro, 1951", ("momentum", "nesterov"), True),
        Optimizer("rmsprop", "Tieleman and Hinton, 2012", ("alpha", "epsilon", "momentum"), True),
        Optimizer("adam", "Kingma and Ba, 2015", ("beta1", "beta2", "epsilon"), True),
        Optimizer("adamw", "Loshchilov and Hutter, 2019", ("beta1", "beta2", "epsilon"), False),
        Optimizer("lbfgs", "Nocedal, 1980; Nocedal and Wright, 2006", ("history_size",), True),
    )
}
