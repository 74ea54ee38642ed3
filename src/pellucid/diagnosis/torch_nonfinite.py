"""Where numbers stopped being finite, found on the batches of that step, before its update."""

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from .._errors import InvalidInput
from .torch_batches import Batch, Batches, tensors
from .torch_state import device_type, global_state_kept, is_finite, not_finite, own_copy, stored

SEE = "pellucid.diagnose tells causes apart by experiments."
NAMED = 5
"""Rows or columns that a sentence names."""
MOST_TRIED = 32
"""Layers that are tried one by one, at most."""


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


@dataclass(frozen=True)
class Looks:
    """What is known in `step` of the updates up to `last`, whose parameters are the present ones.

    Before the update of `finite` all parameters were seen to be finite. At `clean` the gradient of
    the parameter `probe` was, which says as much of those parameters that it depends on.
    """

    step: int
    last: int
    finite: int
    clean: int
    probe: str | None


def locate(
    model: nn.Module, batches: Batches, trained: dict[str, nn.Parameter], looks: Looks
) -> FirstNonFinite:
    """Where it began, called before the update of a step, when a gradient is not finite.

    `trained` are the parameters that the optimizer holds.
    """
    step = looks.step
    spoiled = in_an_update(model, batches, trained, looks)
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


def in_the_last_batch(step: int, model: nn.Module, batches: Batches) -> FirstNonFinite | None:
    """The last batch that the model was given, if it is what an exception came from."""
    for batch in batches.last:
        given = _given(step, batch)
        if given and _holds_nan(batch):
            forward = _forward(model, batch, batches.autocast)
            if forward.layer is not None and _is_from_the_input(
                forward, model, batch, batches.autocast
            ):
                return given
    return None


def in_an_update(
    model: nn.Module, batches: Batches, trained: dict[str, nn.Parameter], looks: Looks
) -> FirstNonFinite | None:
    """Which of the updates made parameters not finite, if some are so."""
    layers = list(dict.fromkeys(map(_layer, not_finite(trained))))
    if not layers:
        return None
    kept = batches.before
    updates = _since(looks.finite, looks.last)
    is_narrow = looks.clean > looks.finite and _would_show(model, layers, batches, looks)
    if is_narrow:
        updates = _since(looks.clean, looks.last)
    if is_narrow or updates[0] in kept:  # else there were others before those that are kept
        given = _in_a_batch(kept, updates, model, batches.autocast)
        if given is not None:
            return given
    if len(updates) == 1:
        return FirstNonFinite(updates[0], layers[0], "parameters")
    layer = layers[0] if len(layers) == 1 else ""
    return FirstNonFinite(updates[0], layer, "parameters", until=updates[-1])


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


# ---- the parameters


def _since(first: int, last: int) -> range:
    return range(min(max(first, 1), last), last + 1)


def _would_show(model: nn.Module, layers: list[str], batches: Batches, looks: Looks) -> bool:
    """Whether each of those layers alone, as it is now, would have shown in the look at `clean`.

    The batches of that step, or the newest where they are gone, are run once more for each, with a
    loss that adds up squares. A layer that has its own loss, or is used in other steps only, does
    not show.
    """
    kept = batches.before
    given = kept.get(looks.clean) or batches.now or [b for one in kept.values() for b in one][-1:]
    return len(layers) <= MOST_TRIED and all(
        any(_shows(model, layer, batch, batches.autocast, looks.probe) for batch in given)
        for layer in layers
    )


def _shows(
    model: nn.Module, layer: str, batch: Batch, autocast: torch.dtype | None, probe: str | None
) -> bool:
    """Whether the gradient of `probe` is not finite where only that layer's parameters are not."""
    try:
        twin = _mended(model, but=layer)
        with global_state_kept(), _autocast(model, autocast):
            loss = sum(t.float().square().sum() for t in _outputs(twin, batch) if t.requires_grad)
        assert isinstance(loss, torch.Tensor)
        loss.backward()
    except Exception:  # somebody's model may refuse a copy or a second call: then nothing is shown
        return False
    gradient = dict(twin.named_parameters())[probe].grad if probe else None
    return gradient is not None and not is_finite(gradient)


def _in_a_batch(
    kept: dict[int, list[Batch]], updates: range, model: nn.Module, autocast: torch.dtype | None
) -> FirstNonFinite | None:
    """The first batch of those steps that no finite parameters could have taken.

    What the parameters were is gone: zeros stand for those that are not finite now.
    """
    try:
        mended = _mended(model)
    except InvalidInput:
        mended = model
    for step in updates:
        for batch in kept.get(step, ()):
            given = _given(step, batch) if batch.is_own else None
            if given:
                forward = _forward(mended, batch, autocast)
                if _is_from_the_input(forward, mended, batch, autocast):
                    return given
    return None


@torch.no_grad()
def _mended(model: nn.Module, but: str | None = None) -> nn.Module:
    """A copy with finite parameters and buffers, except those parameters of the layer `but`."""
    twin = own_copy(model)
    own = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
    if any(id(tensor) in own for tensor in (*twin.parameters(), *twin.buffers())):
        raise InvalidInput(f"a copy of the {type(model).__name__} shares parameters with it.")
    for name, parameter in twin.named_parameters():
        if _layer(name) != but and parameter.is_floating_point() and not is_lazy(parameter):
            parameter.data = torch.nan_to_num(parameter, 0.0, 0.0, 0.0)
    for buffer in twin.buffers():
        if buffer.is_floating_point() and not is_lazy(buffer):
            buffer.data = torch.nan_to_num(buffer, 0.0, 0.0, 0.0)
    return twin


# ---- the batch


def _given(step: int, batch: Batch) -> FirstNonFinite | None:
    """The rows and columns of the first tensor of the batch that is not finite."""
    for tensor in tensors((batch.arguments, batch.named)):
        if tensor.is_floating_point() and not is_finite(tensor):
            return FirstNonFinite(step, "", "input", *_places(tensor.detach()), batch.number)
    return None


def _places(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The rows and the columns that hold numbers that are not finite."""
    if tensor.layout != torch.strided:
        return _places_stored(tensor.to_sparse_coo().coalesce())
    bad = ~torch.isfinite(tensor)
    rows = columns = ()
    if tensor.ndim:
        rows = tuple(bad.reshape(len(bad), -1).any(1).nonzero()[:, 0].tolist())
    if tensor.ndim > 1:
        columns = tuple(bad.reshape(-1, bad.shape[-1]).any(0).nonzero()[:, 0].tolist())
    return rows, columns


def _places_stored(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same of a sparse tensor, whose last axes may be dense ones."""
    entries = (~torch.isfinite(tensor.values())).nonzero()
    places = torch.cat([tensor.indices()[:, entries[:, 0]], entries[:, 1:].T])
    rows = tuple(places[0].unique().tolist())
    return rows, tuple(places[-1].unique().tolist()) if tensor.ndim > 1 else ()


def _is_from_the_input(
    forward: _Forward, model: nn.Module, batch: Batch, autocast: torch.dtype | None
) -> bool:
    """Whether the forward is finite once those numbers are zeros; masks of infinities stay."""
    if forward.layer is None:
        return not forward.has_run and _holds_nan(batch)
    return _forward(model, _cleaned(batch), autocast).layer is None


def _holds_nan(batch: Batch) -> bool:
    given = tensors((batch.arguments, batch.named))
    return any(t.is_floating_point() and bool(torch.isnan(stored(t)).any()) for t in given)


def _cleaned(batch: Batch) -> Batch:
    def zeros(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        if value.layout in (torch.strided, torch.sparse_coo):
            return torch.nan_to_num(value, 0.0, 0.0, 0.0)
        return torch.nan_to_num(value.to_sparse_coo(), 0.0, 0.0, 0.0).to_sparse(layout=value.layout)

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
    """What the model gives for copies of the arguments: it may write to them."""
    arguments, named = _mapped((batch.arguments, batch.named), _copied)
    with torch.compiler.set_stance("force_eager"):
        return list(tensors(model(*arguments, **named)))


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)


def _autocast(model: nn.Module, dtype: torch.dtype | None) -> Any:
    if dtype is None:
        return nullcontext()
    return torch.autocast(device_type(model), dtype)


def _note(name: str, found: list[str]) -> Any:
    def hook(module: nn.Module, _: Any, output: Any) -> None:
        if not all(map(is_finite, tensors(output))):
            found.append(name or type(module).__name__)

    return hook


# ---- small things


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nested tuples, lists and dicts, with everything in them changed."""
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    if isinstance(value, tuple):
        inner = [_mapped(one, change) for one in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return change(value)


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
