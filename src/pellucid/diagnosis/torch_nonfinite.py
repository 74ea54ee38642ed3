"""Where numbers stopped being finite, found on the batches of that step, before its update."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .._errors import InvalidInput
from .torch_batches import Batch, Batches
from .torch_state import global_state_kept, own_copy

SEE = "pellucid.diagnose tells causes apart by experiments."
NAMED = 5
"""Rows or columns that a sentence names."""


@dataclass(frozen=True)
class FirstNonFinite:
    """Where numbers stopped being finite: the step (from 1), the layer, and in which pass.

    `place` is "input", "forward", "loss", "gradient" or "parameters". For an input, `rows` and
    `columns` are those of the batch that hold such numbers (the first and the last axis of its
    tensor), and `batch` is its number among those of the step. Step 0 is before the first one.

    Where only a range of steps is known, `step` is the first of them and `until` the last. Then the
    place is "parameters": one of those updates made them so; the layer is given if it is the only
    one. A batch among those steps that no parameters could have taken is given instead.
    """

    step: int
    layer: str
    place: str
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    batch: int = 1
    until: int | None = None


@dataclass(frozen=True)
class _Forward:
    """One more forward on a batch: the first layer whose output is not finite, if one is.

    `is_known` tells whether it can be relied on to be what the training's own forward was, and
    `has_run` whether there was one.
    """

    layer: str | None
    is_known: bool
    has_run: bool = True


def locate(
    step: int, model: nn.Module, batches: Batches, trained: dict[str, nn.Parameter], updates: range
) -> FirstNonFinite:
    """Where it began, called before the update of `step`, when a gradient is not finite.

    `trained` are the parameters that the optimizer holds, and `updates` the steps whose updates can
    have spoiled them.
    """
    spoiled = _in_an_update(updates, model, batches, trained)
    if spoiled is not None:
        return spoiled
    is_known = batches.arrived == len(batches.now) > 0
    for batch in batches.now:
        forward = _forward(model, batch, batches.autocast)
        given = _given(step, batch)
        if given and _is_from_the_input(forward, model, batch, batches.autocast):
            return given
        if forward.layer is not None:
            return FirstNonFinite(step, forward.layer, "forward", batch=batch.number)
        is_known = is_known and forward.is_known
    bad = [n for n, p in trained.items() if p.grad is not None and not is_finite(p.grad)]
    if len(bad) == sum(p.grad is not None for p in trained.values()):
        return FirstNonFinite(step, "", "loss" if is_known else "gradient")
    return FirstNonFinite(step, _layer(bad[-1]) if bad else "", "gradient")


def at_the_end(
    steps: int, model: nn.Module, batches: Batches, trained: dict[str, nn.Parameter], updates: range
) -> FirstNonFinite | None:
    """What no further step shows: a batch that ended the loop, and what the last updates did."""
    spoiled = _in_an_update(updates, model, batches, trained) if steps else None
    if spoiled is not None:
        return spoiled
    for batch in batches.now:
        given = _given(steps + 1, batch)
        if given and _holds_nan(batch):
            forward = _forward(model, batch, batches.autocast)
            if forward.layer is not None and _is_from_the_input(
                forward, model, batch, batches.autocast
            ):
                return given
    return None


def told(first: FirstNonFinite) -> str:
    """One sentence on what was seen, and in which situations that is seen."""
    where, seen_with = {
        "input": (
            f"the batch that the model was given held numbers that are not finite{_spot(first)}",
            "missing values in the data, and with logarithms, roots or divisions at 0 in its "
            "preparation. Fill or leave out those entries before training;",
        ),
        "forward": (
            f"the output of {_named(first.layer)} was the first that is not finite",
            "rates that are too high, with unscaled numbers and with logarithms, roots or "
            "divisions at 0;",
        ),
        "loss": (
            "the outputs were finite, and no layer's gradient was",
            "targets that are not finite, with logarithms, roots or divisions at 0 in the loss, "
            "and with outputs too large for it;",
        ),
        "gradient": (
            f"the gradient was not finite{' from ' * bool(first.layer)}"
            f"{_named(first.layer) + ' downward' if first.layer else ''}",
            "numbers in the batch that are not finite, with roots, logarithms or divisions at 0, "
            "and with rates that are too high;",
        ),
        "parameters": (
            f"the update made parameters of {_named(first.layer)} not finite",
            "rates that are too high, with unscaled numbers, and with gradients of roots, "
            "logarithms or divisions at 0;",
        ),
    }[first.place]
    if first.step == 0:
        return f"Before the first step: parameters of {_named(first.layer)} were not finite."
    if first.until is None:
        return f"Step {first.step}: {where}. Seen with {seen_with} {SEE}"
    return (
        f"Steps {first.step} to {first.until}: one of these updates made parameters of "
        f"{_named(first.layer)} not finite. Seen with targets that are not finite, with {seen_with}"
        f" {SEE}"
    )


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all stored numbers are finite."""
    values = tensor.detach()
    return bool(torch.isfinite(values.coalesce().values() if values.is_sparse else values).all())


# ---- the parameters


def _in_an_update(
    updates: range, model: nn.Module, batches: Batches, trained: dict[str, nn.Parameter]
) -> FirstNonFinite | None:
    """Which of those updates made parameters not finite, if some are so."""
    layers = list(dict.fromkeys(_layer(n) for n, p in trained.items() if not is_finite(p)))
    if not layers:
        return None
    given = _in_a_batch_before(updates, model, batches)
    if given is not None:
        return given
    if len(updates) == 1:
        return FirstNonFinite(updates[0], layers[0], "parameters")
    layer = layers[0] if len(layers) == 1 else ""
    return FirstNonFinite(updates[0], layer, "parameters", until=updates[-1])


def _in_a_batch_before(updates: range, model: nn.Module, batches: Batches) -> FirstNonFinite | None:
    """The first batch of those steps that no finite parameters could have taken.

    What the parameters were is gone: zeros stand for those that are not finite now.
    """
    mended = _mended(model)
    for step, kept in batches.before:
        for batch in kept if step in updates else ():
            given = _given(step, batch)
            if given:
                forward = _forward(mended, batch, batches.autocast)
                if _is_from_the_input(forward, mended, batch, batches.autocast):
                    return given
    return None


@torch.no_grad()
def _mended(model: nn.Module) -> nn.Module:
    """A copy with finite parameters and buffers; the model itself where it cannot be copied."""
    try:
        twin = own_copy(model)
    except InvalidInput:
        return model
    for tensor in (*twin.parameters(), *twin.buffers()):
        if tensor.is_floating_point():
            tensor.nan_to_num_(0.0, 0.0, 0.0)
    return twin


# ---- the batch


def _given(step: int, batch: Batch) -> FirstNonFinite | None:
    """The rows and columns of the first tensor of the batch that is not finite."""
    for tensor in _tensors((batch.arguments, batch.named)):
        if not tensor.is_floating_point() or is_finite(tensor):
            continue
        bad = ~torch.isfinite(tensor.detach())
        rows = columns = ()
        if tensor.ndim:
            rows = tuple(bad.reshape(len(bad), -1).any(1).nonzero()[:, 0].tolist())
        if tensor.ndim > 1:
            columns = tuple(bad.reshape(-1, bad.shape[-1]).any(0).nonzero()[:, 0].tolist())
        return FirstNonFinite(step, "", "input", rows, columns, batch.number)
    return None


def _is_from_the_input(
    forward: _Forward, model: nn.Module, batch: Batch, autocast: torch.dtype | None
) -> bool:
    """Whether the forward is finite once those numbers are zeros; masks of infinities stay."""
    if forward.layer is None:
        return not forward.has_run and _holds_nan(batch)
    return _forward(model, _cleaned(batch), autocast).layer is None


def _holds_nan(batch: Batch) -> bool:
    tensors = _tensors((batch.arguments, batch.named))
    return any(t.is_floating_point() and bool(torch.isnan(t).any()) for t in tensors)


def _cleaned(batch: Batch) -> Batch:
    def zeros(tensor: torch.Tensor) -> torch.Tensor:
        return torch.nan_to_num(tensor, 0.0, 0.0, 0.0) if tensor.is_floating_point() else tensor

    arguments, named = _mapped((batch.arguments, batch.named), zeros)
    return Batch(arguments, named, batch.number)


# ---- the forward


def _forward(model: nn.Module, batch: Batch, autocast: torch.dtype | None) -> _Forward:
    """Run a copy of the model on the batch, with nothing of the training's own changed."""
    found: list[str] = []
    try:
        twin = own_copy(model)
        for name, part in twin.named_modules():
            if not list(part.children()):
                part.register_forward_hook(_note(name, found))
        with global_state_kept(), torch.no_grad(), _autocast(model, autocast):
            out = _outputs(twin, batch)
            if found or not all(map(is_finite, out)):
                return _Forward(found[0] if found else "", True)
            again = _outputs(twin, batch)
    except Exception:  # somebody's model may refuse a copy or a second call in its own way
        return _Forward(None, is_known=False, has_run=False)
    return _Forward(None, all(torch.equal(a, b) for a, b in zip(out, again, strict=True)))


def _outputs(model: nn.Module, batch: Batch) -> list[torch.Tensor]:
    return list(_tensors(model(*batch.arguments, **batch.named)))


def _autocast(model: nn.Module, dtype: torch.dtype | None) -> Any:
    if dtype is None:
        return nullcontext()
    device = next((p.device.type for p in model.parameters()), "cpu")
    return torch.autocast(device, dtype)


def _note(name: str, found: list[str]) -> Any:
    def hook(module: nn.Module, _: Any, output: Any) -> None:
        if not all(map(is_finite, _tensors(output))):
            found.append(name or type(module).__name__)

    return hook


# ---- small things


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _tensors(inner)


def _mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same nested tuples, lists and dicts, with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    if isinstance(value, tuple):
        inner = [_mapped(one, change) for one in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value


def _layer(parameter: str) -> str:
    return parameter.rpartition(".")[0]


def _named(layer: str) -> str:
    return f"layer {layer!r}" if layer else "the model"


def _spot(first: FirstNonFinite) -> str:
    columns = f", in {_listed('column', first.columns)}" if first.columns else ""
    rows = f" ({_listed('row', first.rows)})" if first.rows else ""
    which = f"; it was number {first.batch} of the batches of this step" if first.batch > 1 else ""
    return f"{columns}{rows}{which}"


def _listed(word: str, numbers: tuple[int, ...]) -> str:
    """'column 2', 'rows 1 and 4', 'rows 0, 1, 2, 3, 4 and 59 more'; counted from 0."""
    if len(numbers) == 1:
        return f"{word} {numbers[0]}"
    named = [str(number) for number in numbers[:NAMED]]
    last = f"{len(numbers) - NAMED} more" if len(numbers) > NAMED else named.pop()
    return f"{word}s {', '.join(named)} and {last}"
