"""`watch`: a look at a training loop of PyTorch, cheap enough to leave on."""

import math
import warnings
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .._errors import InvalidInput, PellucidWarning
from . import torch_pace
from .torch_batches import Batches
from .torch_layers import LayerMeasurement, Layers
from .torch_nonfinite import (
    SEE,
    FirstNonFinite,
    Looks,
    in_an_update,
    in_the_last_batch,
    locate,
    told,
)
from .torch_pace import Pace
from .torch_state import Guard, is_finite, not_finite
from .torch_units import Lasting, Units, UnitsSeen

INTERVAL = 200
"""Steps between two measurements."""
ENOUGH = 5
"""Measurements in a row that must agree before anything is said; of units, the last half."""
ENOUGH_ROWS = 500
"""Rows that those measurements need together before anything is said of units."""
MOST_UNITS = 0.8
"""A share of a layer's units that is worth saying."""
LARGE_UPDATE = 1.0
LARGEST_PROBE = 2**16
"""Numbers of a gradient that are added up in one look, at most."""


@dataclass(frozen=True)
class Finding:
    """Something that was seen beyond doubt, in a sentence; what caused it, it does not say."""

    kind: str
    sentence: str


class Watch:
    """What was seen of a training loop: `first_nonfinite`, `measurements`, `findings`.

    A unit counts as dead where ReLU made it 0 on every row of a batch, and as saturated where the
    slope of its sigmoid or tanh was below 1 % of the steepest on every row. `findings` is empty
    unless something was so in at least five measurements in a row, for units in the last half of
    all and on 500 rows. Steps are those that the optimizer made, from 1.
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
        self.first_nonfinite: FirstNonFinite | None = None
        self.measurements: tuple[LayerMeasurement, ...] = ()
        self._model, self._optimizer = model, optimizer
        self._layers = Layers(model, optimizer)
        self._batches = Batches(model, self._gradient_so_far)
        self._pace = Pace()
        self._next_turn: float = 1  # the steps before it are not measured, nor is the next one
        self._step = 0  # the one that was looked at last
        self._next_look: float = 1  # the steps before it are counted, and no more
        self._finite = 1  # before this update, all parameters were seen to be finite
        self._clean = 0  # the last step whose gradient was seen, and was finite
        self._clean_of: nn.Parameter | None = None  # that parameter's
        self._guard = Guard(self._fails)
        self._units = UnitsSeen(model, self._fails)
        self._units_now: dict[str, Units] = {}
        self._units_of: dict[str, Lasting] = {}
        self._bad_at_start: set[str] = set()
        self._failure = ""
        self._handles: list[Any] = []
        self._after_handle: Any = None
        self._trained = list(self._layers.trained_lately.values())  # among them the probe is chosen
        self._choose_probe()

    @property
    def steps(self) -> int:
        """How many the optimizer made."""
        return self._batches.step - 1

    # ---- the block

    def __enter__(self) -> "Watch":
        """Put the hooks in."""
        if self._handles:
            raise InvalidInput("this watch is in its block already; make another with watch(...).")
        if self.steps == 0:
            self._bad_at_start = self._spoiled_now()
        can_skip = getattr(self._optimizer, "_step_supports_amp_scaling", False)
        before = self._before_scaled if can_skip else self._before
        self._handles = [self._optimizer.register_step_pre_hook(before)]
        self._batches.begin()
        self._next_look = math.inf if self._failure else self.steps + 1
        if (self.steps + 1) % self.interval == 0 and not self._failure:
            self._batches.run_inside(self._units.looking)
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        """Take everything away, and warn of what is sure."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        try:
            with self._guard:
                self._take_after_away()
                if self.first_nonfinite is None:
                    self.first_nonfinite = self._at_the_end(error)
        finally:
            self._batches.end()
        self.measurements = tuple(self._layers.rows)
        with nullcontext() if kind is None else suppress(PellucidWarning):
            for finding in self.findings:
                warnings.warn(finding.sentence, PellucidWarning, stacklevel=2)

    def _at_the_end(self, error: Any) -> FirstNonFinite | None:
        """What no further step shows: what the last updates did, or a batch that ended the loop.

        One that the loop left out, without an error, is no fault.
        """
        first = self._in_an_update() if self.steps else None
        if first is None and isinstance(error, Exception):
            return in_the_last_batch(self.steps + 1, self._model, self._batches)
        return first

    def _fails(self, error: Exception) -> None:
        """Watch no more, and say so: what goes wrong here is no matter of the training's."""
        if not self._failure:
            self._failure = (
                f"After step {self.steps} nothing more was watched, and nothing was disturbed: "
                f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            )
        self._next_look, self._next_turn = math.inf, 0
        self._batches.end()

    # ---- every step: a count and its batch; a few microseconds more where it is looked at

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        batches = self._batches
        step = batches.step
        is_usual = not kwargs and len(args) == 1
        if is_usual and step < self._next_look:
            batches.step = step + 1
            return None
        try:
            if is_usual and step < self._next_turn:
                # the same as `_look_closer` does, without more calls
                gradient = None if self._probe is None else self._probe.grad
                value = 0.0 if gradient is None else gradient.sum().item()
                if value != 0.0 and value - value == 0.0:
                    self._clean, self._clean_of = step, self._probe
                    self._next_look = step + self._pace.every
                    if self._next_look > self._next_turn:
                        self._next_look = self._next_turn
                    return None
            self._step = step
            return None if self._failure else self._look_closer(args, kwargs)
        except Exception as error:  # as `Guard` does, whose calls would cost every look more
            self._fails(error)
            return None
        finally:
            batches.step = step + 1

    def _before_scaled(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """The same where a scaler may have the optimizer itself skip a step."""
        skips = getattr(optimizer, "found_inf", None)
        if skips is not None:
            self._batches.scaled(self._batches.step, skips)
        return self._before(optimizer, args, kwargs)

    def _look_closer(self, args: Any, kwargs: Any) -> Any:
        """Look at this step, or at every evaluation of its closure; measure it if it is its turn.

        The arguments of `step` are given back if they are others.
        """
        self._take_after_away()
        changed = self._with_checks(args, kwargs) if kwargs or len(args) > 1 else None
        if changed is None:
            self._look()
        self._batches.is_amid = changed is not None
        place = self._step % self.interval
        if place == 0:
            self._measure()
        if place == self.interval - 1:
            self._batches.run_inside(self._units.looking)
            self._batches.ask_autocast()
        is_steady = self._pace.is_chosen and changed is None and place
        turn = self._step + max(1, self.interval - 1 - place)
        self._next_turn = turn if is_steady and self.first_nonfinite is None else 0
        self._next_look = min(turn, self._step + (self._pace.every if is_steady else 1))
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
            self._locate(self._step - 1)

    def _gradient_so_far(self) -> float:
        """That gradient amid a step; in one that will not be looked at, 1 for any that is there."""
        with self._guard:
            if self._batches.step >= self._next_look:
                return self._probed()
            return 0.0 if self._probe is None or self._probe.grad is None else 1.0
        return math.nan

    def _is_spoiled(self) -> bool:
        """Whether the gradient of one parameter near the output is not finite."""
        value = self._probed()
        if value - value != 0.0:
            return True
        if value != 0.0:  # zeros may be all that an unused parameter has
            self._clean, self._clean_of = self._step, self._probe
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
        if self._layers.are_lazy:
            self._trained = list(self._layers.trained.values())
        last: list[nn.Parameter] = []
        for parameter in reversed(self._trained):
            if parameter.grad is not None and not parameter.grad.is_sparse:
                last.append(parameter)
            if len(last) == 2:
                break
        small = sorted((p for p in last if p.numel() <= LARGEST_PROBE), key=lambda p: p.numel())
        self._probe = small[-1] if small else min(last, key=lambda p: p.numel(), default=None)
        self._is_one = self._probe is not None and self._probe.numel() == 1

    def _with_checks(self, args: Any, kwargs: Any) -> Any:
        """The arguments of `step`, with a closure whose every evaluation is looked at."""
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if not callable(closure):
            return None
        before = self.first_nonfinite
        last = [self._step - 1]  # whose update was the last one

        def looked_at() -> Any:
            value = closure()
            if not self._failure:
                with self._guard:
                    self._look_at_evaluation(before, last)
            return value

        if len(args) > 1:
            return (args[0], looked_at, *args[2:]), kwargs
        return args, {**kwargs, "closure": looked_at}

    def _look_at_evaluation(self, before: FirstNonFinite | None, last: list[int]) -> None:
        if before is None:
            self.first_nonfinite = None  # a line search may come back from such a point
            if self._is_spoiled():
                self._locate(last[0])
        self._batches.evaluated()
        last[0] = self._step

    def _locate(self, last: int) -> None:
        """Called before the update: the parameters are those that the step `last` left."""
        found_inf = getattr(self._optimizer, "found_inf", None)  # a scaler that skips this step
        if found_inf is not None and bool(found_inf):
            return
        if self._probe is None or self._probe.grad is None or is_finite(self._probe.grad):
            self._clean, self._clean_of = self._step, self._probe  # only the sum was too large
            return
        self.first_nonfinite = FirstNonFinite(self._step, "", "gradient")  # if no more can be said
        trained = self._trained_at_start() if last else self._layers.trained
        looks = self._looks(self._step, last)
        self.first_nonfinite = locate(self._model, self._batches, trained, looks)

    def _in_an_update(self) -> FirstNonFinite | None:
        trained, looks = self._trained_at_start(), self._looks(self.steps + 1, self.steps)
        return in_an_update(self._model, self._batches, trained, looks)

    def _looks(self, step: int, last: int) -> Looks:
        names = {id(p): name for name, p in self._model.named_parameters()}
        return Looks(step, last, self._finite, self._clean, names.get(id(self._clean_of)))

    # ---- every `interval` steps

    def _measure(self) -> None:
        self._batches.run_inside(None)
        self._units_now = self._units.end()
        for name, units in self._units_now.items():
            lasting = self._units_of.get(name)
            self._units_of[name] = Lasting(units) if lasting is None else lasting.add(units)
        self._layers.before()
        self._after_handle = self._optimizer.register_step_post_hook(self._after)

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._step != self.steps or self._step % self.interval or self._failure:
            return
        with self._guard:
            if self._layers.after(self._step, self._units_now):
                self._finite = self._step
            elif self.first_nonfinite is None:
                self.first_nonfinite = self._in_an_update()
            self._trained = list(self._layers.trained_lately.values())
            self._choose_probe()

    def _take_after_away(self) -> None:
        """Not amid the hooks of `step` that it is one of: others may be there, too."""
        if self._after_handle is not None:
            self._after_handle.remove()
            self._after_handle = None

    # ---- what is sure

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was seen beyond doubt, the first non-finite number first."""
        return tuple(self._findings())

    def _findings(self) -> Iterator[Finding]:
        if self._failure:
            yield Finding("not watched", self._failure)
        if self.first_nonfinite is not None:
            yield Finding("not finite", told(self.first_nonfinite))
        for name, lasting in self._units_of.items():
            found = lasting.in_the_last(ENOUGH, ENOUGH_ROWS)
            if found is not None and found[1].share >= MOST_UNITS:
                yield Finding(*_told_of_units(self._layers.label(name), *found))
        for name in self._layers.names:
            label = self._layers.label(name)
            rows = [r for r in self._layers.rows if r.layer == label][-ENOUGH:]
            if len(rows) == ENOUGH:
                yield from self._updates(name, label, rows)

    def _updates(self, name: str, label: str, rows: list[LayerMeasurement]) -> Iterator[Finding]:
        ratios = [row.update_ratio for row in rows]
        gradients = {row.gradient_norm for row in rows}
        if name in self._layers.left_out:
            # one gradient that never changes is left from earlier
            is_still = name not in self._layers.moved_elsewhere
            if is_still and min(gradients) > 0 and len(gradients) > 1:
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

    def _spoiled_now(self) -> set[str]:
        with self._guard:
            return set(not_finite(self._layers.trained_lately))
        return set()

    def _trained_at_start(self) -> dict[str, nn.Parameter]:
        """The parameters that are trained and were finite before the first step."""
        return {n: p for n, p in self._layers.trained.items() if n not in self._bad_at_start}

    # ---- as a table and in words

    def to_frame(self) -> Any:
        """Return one row per measured step and layer as a polars DataFrame."""
        import polars as pl

        names = list(LayerMeasurement.__dataclass_fields__)
        rows = self._layers.rows
        return pl.DataFrame({name: [getattr(r, name) for r in rows] for name in names})

    def __repr__(self) -> str:
        n = len({r.step for r in self._layers.rows})
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


def _told_of_units(label: str, measurements: int, units: Units) -> tuple[str, str]:
    share = f"{units.share:.0%} of the units of layer {label!r}"
    when = f"on every row in each of the last {measurements} measurements, {units.rows} rows"
    if units.state == "inactive":
        return "dead units", (
            f"{share} were inactive {when}: no gradient reaches their weights. Seen with rates "
            f"that are too high, with unscaled inputs and with unlucky starts; {SEE}"
        )
    return "saturated units", (
        f"{share} were saturated {when}. Seen with unscaled inputs, with large initial weights "
        f"and with rates that are too high; {SEE}"
    )
