"""`watch`: a look at a training loop of PyTorch, cheap enough to leave on."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .._errors import InvalidInput, PellucidWarning
from .torch_state import global_state_kept, own_copy

INTERVAL = 200
"""Steps between two measurements."""
ENOUGH = 5
"""Measurements in a row that must agree before anything is said."""
MOST_UNITS = 0.8
"""A share of a layer's units that is worth saying."""
LARGE_UPDATE = 1.0
FLAT = 0.01
"""A slope below this share of the steepest counts as saturated."""

SEE = "pellucid.diagnose tells causes apart by experiments."


@dataclass(frozen=True)
class FirstNonFinite:
    """Where numbers stopped being finite: the step (from 1), the layer, and in which pass.

    `place` is "input", "forward", "loss", "gradient" or "parameters".
    """

    step: int
    layer: str
    place: str


@dataclass(frozen=True)
class LayerMeasurement:
    """One layer at one step: shares of its units, norms over its weights and biases."""

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

    A unit counts as dead where its weights got no gradient from the whole batch, and as saturated
    where the slope of its sigmoid or tanh was below 1 % of the steepest on every row of it.
    `findings` is empty unless something was so in at least five measurements in a row.
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
        self._layers = {n: m for n, m in model.named_modules() if _has_weights(m)}
        self._held = {id(p) for g in optimizer.param_groups for p in g["params"]}
        self._rows: list[LayerMeasurement] = []
        self._alive: dict[str, list[torch.Tensor]] = {n: [] for n in self._layers}
        self._flat: dict[str, list[torch.Tensor]] = {}
        self._handles: list[Any] = []
        self._passing: list[Any] = []  # hooks of a measured step
        self._input: tuple[Any, ...] = ()
        self._before_step: dict[str, list[torch.Tensor]] = {}
        self._own_forward: Any = None
        self._choose_probe()

    # ---- the block

    def __enter__(self) -> "Watch":
        """Put the hooks in."""
        self._handles = [self._optimizer.register_step_pre_hook(self._before)]
        self._remember_inputs()
        if self.interval == 1:
            self._look_at_activations()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Take everything away, and warn of what is sure."""
        for handle in (*self._handles, *self._passing):
            handle.remove()
        if "forward" in vars(self._model):
            del self._model.forward
        if self._own_forward is not None:
            self._model.forward = self._own_forward
        self._handles, self._passing, self._input = [], [], ()
        self._before_step = {}
        self.measurements = tuple(self._rows)
        for finding in self.findings:
            warnings.warn(finding.sentence, PellucidWarning, stacklevel=2)

    # ---- every step: a few microseconds

    def _remember_inputs(self) -> None:
        """Keep the arguments of the last forward; a hook of torch would cost ten times as much."""
        self._own_forward = vars(self._model).get("forward")
        forward = self._model.forward

        def remembering(*arguments: Any, **more: Any) -> Any:
            self._input = arguments
            return forward(*arguments, **more)

        self._model.forward = remembering

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.steps += 1
        probe = self._probe
        if probe is not None and self.first_nonfinite is None:
            gradient = probe.grad
            if gradient is not None:
                value = gradient.item() if self._is_one else gradient.sum().item()
                if value - value != 0.0:
                    self._locate()
        if self.steps % self.interval == 0:
            self._measure()
        elif (self.steps + 1) % self.interval == 0:
            self._look_at_activations()

    def _choose_probe(self) -> None:
        self._probe = _probe(self._model, self._held)
        self._is_one = self._probe is not None and self._probe.numel() == 1

    # ---- every `interval` steps

    def _look_at_activations(self) -> None:
        for name, module in self._model.named_modules():
            if type(module) in _SMOOTH:
                self._passing.append(module.register_forward_hook(self._slopes_of(name)))

    def _slopes_of(self, name: str) -> Any:
        def hook(module: nn.Module, _: Any, output: torch.Tensor) -> None:
            if torch.is_grad_enabled() and output.ndim == 2:
                slope = _SMOOTH[type(module)](output.detach())
                self._flat.setdefault(name, []).append((slope < FLAT).all(0))

        return hook

    def _measure(self) -> None:
        for handle in self._passing:
            handle.remove()
        self._passing = []
        self._before_step = {
            name: [p.detach().clone() for p in _own(module)]
            for name, module in self._layers.items()
        }
        for name, module in self._layers.items():
            weight, bias = module.weight, getattr(module, "bias", None)
            if isinstance(weight, torch.Tensor) and weight.grad is not None:
                alive = (weight.grad != 0).any(1)
                if bias is not None and bias.grad is not None:
                    alive |= bias.grad != 0
                self._alive[name].append(alive)
        self._passing.append(self._optimizer.register_step_post_hook(self._after))
        if self.interval == 1:
            self._look_at_activations()

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._passing[-1 if self.interval > 1 else 0].remove()
        self._passing = self._passing[:-1] if self.interval > 1 else self._passing[1:]
        smooth = list(self._flat)
        now = [list(_own(module)) for module in self._layers.values()]
        old = list(self._before_step.values())
        gradients = _norms([[p.grad for p in new if p.grad is not None] for new in now])
        sizes = _norms(old)
        flat_now, flat_old = ([p.detach() for part in parts for p in part] for parts in (now, old))
        moves = iter(_all_differences(flat_now, flat_old))
        moved_norms = _norms([[next(moves) for _ in part] for part in now])
        for i, name in enumerate(self._layers):
            moved, size = moved_norms[i], sizes[i]
            alive = self._alive[name]
            is_last = i == len(self._layers) - 1
            dead = 0.0 if is_last or not alive else 1.0 - float(alive[-1].double().mean())
            flat = self._flat[smooth[i]][-1] if i < len(smooth) else None
            self._rows.append(
                LayerMeasurement(
                    step=self.steps,
                    layer=name or type(self._layers[name]).__name__,
                    gradient_norm=gradients[i],
                    update_ratio=moved / size if size > 0 else (math.inf if moved else 0.0),
                    dead=dead,
                    saturated=0.0 if flat is None else float(flat.double().mean()),
                )
            )
        self._before_step = {}
        self._choose_probe()

    # ---- the first number that is not finite

    def _locate(self) -> None:
        """Called before the update: the parameters are those of this step's forward."""
        name = _first(_bad(n, p) for n, p in self._model.named_parameters())
        if name is not None:
            layer = name.rpartition(".")[0]
            self.first_nonfinite = FirstNonFinite(self.steps - 1, layer, "parameters")
            return
        place = self._in_the_forward()
        if place is None:
            bad = [n for n, m in self._layers.items() if not _finite_gradient(m)]
            inner = len(bad) < len(self._layers)
            place = (bad[-1] if inner and bad else "", "gradient" if inner else "loss")
        self.first_nonfinite = FirstNonFinite(self.steps, *place)

    def _in_the_forward(self) -> tuple[str, str] | None:
        """The first part of the model whose output is not finite on this step's batch."""
        found: list[str] = []
        tensors = [a for a in self._input if isinstance(a, torch.Tensor)]
        if any(t.is_floating_point() and not bool(torch.isfinite(t).all()) for t in tensors):
            return "", "input"
        twin = own_copy(self._model)
        vars(twin).pop("forward", None)
        twin.train(self._model.training)
        for name, part in twin.named_modules():
            if not list(part.children()):
                part.register_forward_hook(_note(name, found))
        with global_state_kept(), torch.no_grad():
            try:
                out = twin(*self._input)
            except Exception:  # a forward that needs more than tensors
                return None
        if found:
            return found[0], "forward"
        finite = not isinstance(out, torch.Tensor) or bool(torch.isfinite(out).all())
        return None if finite else ("", "forward")

    # ---- what is sure

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was seen beyond doubt, the first non-finite number first."""
        return tuple(self._findings())

    def _findings(self) -> Iterator[Finding]:
        first = self.first_nonfinite
        if first is not None:
            yield Finding("not finite", _told(first))
        for name in list(self._layers)[:-1]:
            share = _lasting([~a for a in self._alive[name]])
            if share is not None and share >= MOST_UNITS:
                yield Finding(
                    "dead units",
                    f"{share:.0%} of the units of layer {name!r} got no gradient in each of the "
                    f"last {ENOUGH} measurements: they do not learn any more. Seen with rates that "
                    f"are too high, with unscaled inputs and with unlucky starts; {SEE}",
                )
        for name, flat in self._flat.items():
            share = _lasting(flat)
            if share is not None and share >= MOST_UNITS:
                yield Finding(
                    "saturated units",
                    f"{share:.0%} of the units of {name!r} were saturated on every row in each of "
                    f"the last {ENOUGH} measurements. Seen with unscaled inputs, with large "
                    f"initial weights and with rates that are too high; {SEE}",
                )
        yield from self._updates()

    def _updates(self) -> Iterator[Finding]:
        for name in self._layers:
            label = name or type(self._layers[name]).__name__
            rows = [r for r in self._rows if r.layer == label][-ENOUGH:]
            if len(rows) < ENOUGH:
                continue
            ratios = [r.update_ratio for r in rows]
            if not self._is_held(name) and all(row.gradient_norm > 0 for row in rows):
                yield Finding(
                    "no updates",
                    f"Layer {label!r} gets a gradient in each of the last {ENOUGH} measured steps, "
                    "and its parameters are not in this optimizer.",
                )
            elif all(LARGE_UPDATE < r < math.inf for r in ratios):
                yield Finding(
                    "large updates",
                    f"The steps of layer {label!r} were larger than its parameters themselves "
                    f"({min(ratios):.1f} to {max(ratios):.1f} times) in each of the last {ENOUGH} "
                    "measurements. Seen with rates that are too high and with unscaled targets; "
                    f"{SEE}",
                )

    def _is_held(self, name: str) -> bool:
        return any(id(p) in self._held for p in _own(self._layers[name]))

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
        are gone after the block.
    interval
        Steps between two measurements of gradients, updates and units. Every step is looked at for
        numbers that are not finite.

    Returns
    -------
    Watch
        Silent, unless it is sure: then its `findings` are warned of when the block ends.
    """
    return Watch(model, optimizer, interval)


# ---- small things


def _told(first: FirstNonFinite) -> str:
    where = {
        "input": "the batch that the model was given holds a number that is not finite",
        "forward": f"the output of layer {first.layer!r} was the first that is not finite",
        "loss": "the outputs were finite, and the loss or its gradient was not",
        "gradient": f"the gradient was not finite from layer {first.layer!r} downward",
        "parameters": f"the update made parameters of layer {first.layer!r} not finite",
    }[first.place]
    return (
        f"Step {first.step}: {where}. Seen with rates that are too high, with unscaled numbers and "
        f"with logarithms or divisions at 0; {SEE}"
    )


def _has_weights(module: nn.Module) -> bool:
    own = dict(module.named_parameters(recurse=False))
    return "weight" in own and own["weight"].ndim == 2


def _own(module: nn.Module) -> Iterator[nn.Parameter]:
    return module.parameters(recurse=False)


def _probe(model: nn.Module, held: set[int]) -> nn.Parameter | None:
    """A small parameter near the output: a loss that is not finite reaches its gradient at once."""
    trained = [p for p in model.parameters() if p.requires_grad and id(p) in held]
    return min(trained[-2:], key=lambda p: p.numel(), default=None)


def _norms(groups: list[list[torch.Tensor]]) -> list[float]:
    """Euclid's norm of each group, in one call for all of them."""
    flat = [t.detach() for group in groups for t in group]
    norms = _all_norms(flat) if flat else ()
    squares = iter((torch.stack(norms).double() ** 2).tolist() if flat else ())
    return [math.sqrt(sum(next(squares) for _ in group)) for group in groups]


def _first(names: Iterator[str | None]) -> str | None:
    return next((name for name in names if name is not None), None)


def _bad(name: str, tensor: torch.Tensor) -> str | None:
    return None if bool(torch.isfinite(tensor).all()) else name


def _finite_gradient(module: nn.Module) -> bool:
    return all(p.grad is None or bool(torch.isfinite(p.grad).all()) for p in _own(module))


def _note(name: str, found: list[str]) -> Any:
    def hook(module: nn.Module, _: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor) and not bool(torch.isfinite(output).all()):
            found.append(name or type(module).__name__)

    return hook


def _lasting(masks: list[torch.Tensor]) -> float | None:
    """The share of units that are in all of the last measurements; None where there are too few."""
    if len(masks) < ENOUGH:
        return None
    return float(torch.stack(masks[-ENOUGH:]).all(0).double().mean())


_all_norms: Any = vars(torch)["_foreach_norm"]  # one call for all, as torch's optimizers make
_all_differences: Any = vars(torch)["_foreach_sub"]
_SMOOTH = {
    nn.Sigmoid: lambda s: 4 * s * (1 - s),
    nn.Tanh: lambda t: 1 - t * t,
}
