"""`watch`: a look at a training loop of PyTorch, cheap enough to leave on."""

import math
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from .._errors import InvalidInput, PellucidWarning
from . import torch_pace
from .torch_batches import Batches
from .torch_nonfinite import SEE, FirstNonFinite, at_the_end, is_finite, locate, told
from .torch_pace import Pace
from .torch_units import Units, UnitsSeen

INTERVAL = 200
"""Steps between two measurements."""
ENOUGH = 5
"""Measurements in a row that must agree before anything is said."""
ENOUGH_ROWS = 20
"""Rows that those measurements need together before anything is said of units."""
MOST_UNITS = 0.8
"""A share of a layer's units that is worth saying."""
LARGE_UPDATE = 1.0
LARGEST_PROBE = 2**16
"""Numbers of a gradient that are added up in one look, at most."""


@dataclass(frozen=True)
class LayerMeasurement:
    """One layer at one step: norms over its weights and biases, shares of its units.

    `dead` and `saturated` are 0 where the layer's units were not looked at: those of the output,
    and those that go into no other layer by an activation alone.
    """

    step: int
    layer: str
    gradient_norm: float
    update_ratio: float
    dead: float
    saturated: float


@dataclass(frozen=True)
class Finding:
    """Something that was seen beyond doubt, in a sentence; what caused it, it does not say."""

    kind: str
    sentence: str


class Watch:
    """What was seen of a training loop: `first_nonfinite`, `measurements`, `findings`.

    A unit counts as dead where ReLU made it 0 on every row of a batch, and as saturated where the
    slope of its sigmoid or tanh was below 1 % of the steepest on every row. `findings` is empty
    unless something was so in at least five measurements in a row. Steps are those that the
    optimizer made, from 1.
    """

    def __init__(self, model: Any, optimizer: Any, interval: int):
        if not isinstance(model, nn.Module) or not isinstance(optimizer, torch.optim.Optimizer):
            raise InvalidInput(
                f"watch got a {type(model).__name__} and a {type(optimizer).__name__}; give an "
                "nn.Module and its torch.optim optimizer."
            )
        if int(interval) < 1:
            raise InvalidInput(f"interval is {interval}; it needs a whole number of steps above 0.")
        self.interval = int(interval)
        self.steps = 0
        self.first_nonfinite: FirstNonFinite | None = None
        self.measurements: tuple[LayerMeasurement, ...] = ()
        self._model, self._optimizer = model, optimizer
        self._layers = _with_weights(model)
        self._batches = Batches(model, self._is_spoiled_so_far)
        self._pace = Pace()
        self._next_look = 1  # the steps before it are counted, and no more
        self._clean = 0  # the last step whose gradient was seen, and was finite
        self._units = UnitsSeen(model)
        self._units_now: dict[str, Units] = {}
        self._units_of: dict[str, deque[Units]] = {}
        self._rows: list[LayerMeasurement] = []
        self._before_step: dict[str, list[torch.Tensor]] = {}
        self._left_out: dict[str, list[torch.Tensor]] = {}  # layers that the optimizer lacks
        self._moved_elsewhere: set[str] = set()
        self._bad_at_start: set[str] = set()
        self._handles: list[Any] = []
        self._choose_probe()

    # ---- the block

    def __enter__(self) -> "Watch":
        """Put the hooks in."""
        if self._handles:
            raise InvalidInput("this watch is in its block already; make another with watch(...).")
        if self.steps == 0:
            self._bad_at_start = {n for n, p in self._trained().items() if not is_finite(p)}
        self._handles = [self._optimizer.register_step_pre_hook(self._before)]
        self._batches.begin()
        self._next_look = self.steps + 1
        if (self.steps + 1) % self.interval == 0:
            self._units.begin()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Take everything away, and warn of what is sure."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._before_step = [], {}
        self._units.end()
        if self.first_nonfinite is None:
            trained = self._trained_and_good_at_start()
            updates = self._updates_until(self.steps)
            self.first_nonfinite = at_the_end(
                self.steps, self._model, self._batches, trained, updates
            )
        self._batches.end()
        self.measurements = tuple(self._rows)
        with nullcontext() if kind is None else suppress(PellucidWarning):
            for finding in self.findings:
                warnings.warn(finding.sentence, PellucidWarning, stacklevel=2)

    # ---- every step: a count and its batch; a few microseconds more where it is looked at

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        self.steps += 1
        if self.steps < self._next_look and not kwargs and len(args) == 1:
            self._batches.after_step(self.steps)
            return None
        changed = self._with_checks(args, kwargs) if kwargs or len(args) > 1 else None
        if changed is None:
            self._look()
        self._batches.after_step(self.steps)
        place = self.steps % self.interval
        if place == 0:
            self._measure()
        if place == self.interval - 1:
            self._units.begin()
            self._batches.asks_autocast = True
        every = self._pace.every if changed is None else 1
        self._next_look = self.steps + max(1, min(every, self.interval - 1 - place))
        return changed

    def _look(self) -> None:
        """Look at this step's gradient, before its update."""
        if self.first_nonfinite is not None:
            return
        start = torch_pace.now()
        is_spoiled = self._is_spoiled()
        if not self._pace.is_chosen:
            self._pace.note(start, max(1, self._batches.arrived))
            if self._pace.is_chosen:
                self._batches.keep(self._pace.every)
        if is_spoiled:
            self._locate(self.steps - 1)

    def _is_spoiled_so_far(self) -> bool:
        """Whether it is so amid a step, which is asked only if that step will be looked at."""
        if self.steps + 1 < self._next_look:
            return False
        value = self._probed()
        return value - value != 0.0

    def _is_spoiled(self) -> bool:
        """Whether the gradient of one parameter near the output is not finite."""
        value = self._probed()
        if value - value != 0.0:
            return True
        if value != 0.0:  # zeros may be all that an unused parameter has
            self._clean = self.steps
        return False

    def _probed(self) -> float:
        """The sum of that gradient; 0 where there is none."""
        gradient = None if self._probe is None else self._probe.grad
        if gradient is None:
            self._choose_probe()
            gradient = None if self._probe is None else self._probe.grad
            if gradient is None:
                return 0.0
        return gradient.item() if self._is_one else gradient.sum().item()

    def _choose_probe(self) -> None:
        """The weights near the output: what is not finite in outputs or loss is in their gradient.

        That of a bias would not do: it is the same for every output where the loss is linear.
        """
        trained = list(self._trained().values())
        used = [p for p in trained if p.grad is not None and not p.grad.is_sparse] or trained
        last = sorted(used[-2:], key=lambda p: p.numel())
        small = [p for p in last if p.numel() <= LARGEST_PROBE]
        self._probe = small[-1] if small else next(iter(last), None)
        self._is_one = self._probe is not None and self._probe.numel() == 1

    def _with_checks(self, args: Any, kwargs: Any) -> Any:
        """The arguments of `step`, with a closure whose every evaluation is looked at."""
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if not callable(closure):
            return None
        before = self.first_nonfinite
        last = [self.steps - 1]  # whose update was the last one

        def looked_at() -> Any:
            value = closure()
            if before is None:
                self.first_nonfinite = None  # a line search may come back from such a point
                if self._is_spoiled():
                    self._locate(last[0])
            self._batches.after_step(self.steps)
            last[0] = self.steps
            return value

        if len(args) > 1:
            return (args[0], looked_at, *args[2:]), kwargs
        return args, {**kwargs, "closure": looked_at}

    def _locate(self, last: int) -> None:
        """Called before the update: the parameters are those that the step `last` left."""
        found_inf = getattr(self._optimizer, "found_inf", None)  # a scaler that skips this step
        if found_inf is not None and bool(found_inf):
            return
        if self._probe is None or self._probe.grad is None or is_finite(self._probe.grad):
            self._clean = self.steps  # only the sum was too large
            return
        trained = self._trained() if last == 0 else self._trained_and_good_at_start()
        updates = self._updates_until(last)
        self.first_nonfinite = locate(self.steps, self._model, self._batches, trained, updates)

    def _updates_until(self, last: int) -> range:
        """The steps up to `last` whose updates nothing has shown to be finite."""
        return range(min(max(self._clean, 1), last), last + 1)

    # ---- every `interval` steps

    def _measure(self) -> None:
        self._units_now = self._units.end()
        for name, units in self._units_now.items():
            self._units_of.setdefault(name, deque(maxlen=ENOUGH)).append(units)
        self._layers = _with_weights(self._model)  # lazy ones have got theirs by now
        self._before_step = {
            name: [p.detach().clone() for p in _own(module)]
            for name, module in self._layers.items()
        }
        held = self._held()
        for name, now in self._before_step.items():
            if not any(id(p) in held for p in _own(self._layers[name])):
                old = self._left_out.get(name, now)
                if not all(torch.equal(a, b) for a, b in zip(old, now, strict=True)):
                    self._moved_elsewhere.add(name)
                self._left_out[name] = now
        self._handles.append(self._optimizer.register_step_post_hook(self._after))

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._handles.pop().remove()
        now = [list(_own(module)) for module in self._layers.values()]
        old = list(self._before_step.values())
        gradients = [[_gradient(p) for p in part] for part in now]
        moved: list[torch.Tensor] = _all_differences(_flat(now), _flat(old)) if now else []
        differences = iter(moved)
        moves = [[next(differences) for _ in part] for part in now]
        norms = iter(_norms([*gradients, *moves, *old]))
        of_each = zip(*([next(norms) for _ in now] for _ in range(3)), strict=True)
        for name, (gradient, move, size) in zip(self._layers, of_each, strict=True):
            units = self._units_now.get(name)
            share = 0.0 if units is None else float(units.mask.double().mean())
            state = "" if units is None else units.state
            self._rows.append(
                LayerMeasurement(
                    step=self.steps,
                    layer=self._label(name),
                    gradient_norm=gradient,
                    update_ratio=move / size if size > 0 else (math.inf if move else 0.0),
                    dead=share if state == "inactive" else 0.0,
                    saturated=share if state == "saturated" else 0.0,
                )
            )
        self._before_step = {}
        self._choose_probe()

    # ---- what is sure

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was seen beyond doubt, the first non-finite number first."""
        return tuple(self._findings())

    def _findings(self) -> Iterator[Finding]:
        if self.first_nonfinite is not None:
            yield Finding("not finite", told(self.first_nonfinite))
        for name, units in self._units_of.items():
            lasting = _lasting(units)
            if lasting is not None and float(lasting.mask.double().mean()) >= MOST_UNITS:
                yield Finding(*_told_of_units(self._label(name), lasting))
        for name in self._layers:
            label = self._label(name)
            rows = [r for r in self._rows if r.layer == label][-ENOUGH:]
            if len(rows) == ENOUGH:
                yield from self._updates(name, label, rows)

    def _updates(self, name: str, label: str, rows: list[LayerMeasurement]) -> Iterator[Finding]:
        ratios = [row.update_ratio for row in rows]
        gradients = {row.gradient_norm for row in rows}
        if name in self._left_out:
            # one gradient that never changes is left from earlier
            if name not in self._moved_elsewhere and min(gradients) > 0 and len(gradients) > 1:
                yield Finding(
                    "no updates",
                    f"Layer {label!r} gets a gradient in each of the last {ENOUGH} measured steps, "
                    "and its parameters are not in this optimizer.",
                )
        elif all(LARGE_UPDATE < ratio < math.inf for ratio in ratios):
            yield Finding(
                "large updates",
                f"The steps of layer {label!r} were larger than its parameters themselves "
                f"({min(ratios):.1f} to {max(ratios):.1f} times) in each of the last {ENOUGH} "
                "measurements. Seen with rates that are too high and with unscaled targets; "
                f"{SEE}",
            )

    def _held(self) -> set[int]:
        return {id(p) for group in self._optimizer.param_groups for p in group["params"]}

    def _trained(self) -> dict[str, nn.Parameter]:
        held = self._held()
        named = self._model.named_parameters()
        return {n: p for n, p in named if p.requires_grad and id(p) in held and not is_lazy(p)}

    def _trained_and_good_at_start(self) -> dict[str, nn.Parameter]:
        return {n: p for n, p in self._trained().items() if n not in self._bad_at_start}

    def _label(self, name: str) -> str:
        return name or type(self._layers[name]).__name__

    # ---- as a table and in words

    def to_frame(self) -> Any:
        """Return one row per measured step and layer as a polars DataFrame."""
        import polars as pl

        names = list(LayerMeasurement.__dataclass_fields__)
        rows = self._rows
        return pl.DataFrame({name: [getattr(r, name) for r in rows] for name in names})

    def __repr__(self) -> str:
        n = len({r.step for r in self._rows})
        lines = [f"Watch({self.steps} steps, {n} measured, {len(self._layers)} layers)"]
        lines += [f"  {finding.sentence}" for finding in self.findings]
        return "\n".join(lines)


def watch(model: Any, optimizer: Any, *, interval: int = INTERVAL) -> Watch:
    """Watch a training loop: `with pellucid.watch(model, optimizer) as seen: ...`.

    Parameters
    ----------
    model, optimizer
        An `nn.Module` and the optimizer whose `step` the loop calls. Neither is changed; all hooks
        are gone after the block, and none is in copies or pickles of the model made inside it.
    interval
        Steps between two measurements of gradients, updates and units. For numbers that are not
        finite every step is looked at, or every few steps (at most eight) where steps are short, as
        the first ones are timed. Then `first_nonfinite` may be a range of steps.

    Returns
    -------
    Watch
        Silent, unless it is sure: then its `findings` are warned of when the block ends.
    """
    return Watch(model, optimizer, interval)


# ---- small things


def _told_of_units(label: str, units: Units) -> tuple[str, str]:
    share = f"{float(units.mask.double().mean()):.0%} of the units of layer {label!r}"
    when = f"on every row in each of the last {ENOUGH} measurements"
    if units.state == "inactive":
        return "dead units", (
            f"{share} were inactive {when}: no gradient reaches their weights. Seen with rates "
            f"that are too high, with unscaled inputs and with unlucky starts; {SEE}"
        )
    return "saturated units", (
        f"{share} were saturated {when}. Seen with unscaled inputs, with large initial weights "
        f"and with rates that are too high; {SEE}"
    )


def _with_weights(model: nn.Module) -> dict[str, nn.Module]:
    """The parts that have a weight matrix of their own."""
    own = {n: dict(m.named_parameters(recurse=False)) for n, m in model.named_modules()}
    matrices = {n for n, p in own.items() if "weight" in p and not is_lazy(p["weight"])}
    return {n: m for n, m in model.named_modules() if n in matrices and m.weight.ndim == 2}


def _own(module: nn.Module) -> Iterator[nn.Parameter]:
    return module.parameters(recurse=False)


def _gradient(parameter: nn.Parameter) -> torch.Tensor:
    """The gradient's stored numbers; none where there is no gradient."""
    gradient = parameter.grad
    if gradient is None or not parameter.requires_grad:
        return parameter.new_zeros(1)
    return gradient.coalesce().values() if gradient.is_sparse else gradient


def _flat(groups: list[Any]) -> list[torch.Tensor]:
    return [tensor.detach() for group in groups for tensor in group]


def _norms(groups: list[list[torch.Tensor]]) -> list[float]:
    """Euclid's norm of each group; one call and, on one device, one wait for all of them."""
    flat = _flat(groups)
    norms = _all_norms(flat) if flat else []
    is_one_device = len({norm.device for norm in norms}) == 1
    values = iter(torch.stack(norms).tolist() if is_one_device else map(float, norms))
    return [math.hypot(*(next(values) for _ in group)) for group in groups]


def _lasting(units: deque[Units]) -> Units | None:
    """The units that are so in all of the last measurements; None where those are too few."""
    if len(units) < ENOUGH or sum(one.rows for one in units) < ENOUGH_ROWS:
        return None
    return reduce(Units.also, units)


_all_norms: Any = vars(torch)["_foreach_norm"]  # one call for all, as torch's optimizers make
_all_differences: Any = vars(torch)["_foreach_sub"]
