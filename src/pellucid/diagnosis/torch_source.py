"""`TorchSource`: a user's own PyTorch code as what a diagnosis is about."""

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from .._errors import InvalidInput
from .._shapes import Array
from ..datasets import Table, as_table
from ..likelihoods import LIKELIHOODS
from ..network import Activations, Network, as_activations, text_of
from ..training import OPTIMIZERS, History
from .problem import GAUSSIAN_CONSTANT, Problem, outputs, own_table, pose
from .source import OwnRun, Report
from .torch_code import (
    BATCH,
    LOOKED_AT,
    RATE,
    STEPS,
    Code,
    Trained,
    fitting_target,
    input_tensor,
    target_tensor,
)
from .torch_gates import in_order
from .torch_head import Head, best_temperature, head_of, scaled_outputs, usual_loss
from .torch_loss import Loss, recognise_loss, takes
from .torch_objective import Objective, objective_of
from .torch_outputs import OutputKind, output_kind
from .torch_reading import Reading, read_module
from .torch_spy import Seen
from .torch_state import own_copy
from .unread import Unread
from .verdict import Recipe

RECORDS = 100
PLAIN_FACTORS = (1.0, 0.5)
"""Factors of a mean loss; others, such as those of a sum, change with the batch."""
MOST_NAMES = 6
"""Inputs that are named in an error."""
STAND_IN = (64,)
"""Hidden widths in the recipe of a model that could not be read; none is trained with them."""


@dataclass(eq=False)
class TorchSource:
    """Runs of `train_fn` on models of `model_fn`, or one module that is trained already.

    `searchable` says whether Pellucid's own training can search the same architecture: the module
    was read, has one activation and a bias in every layer, and nothing between outputs and loss.
    Where the loss is no likelihood, that training minimises the likelihood that is told instead.
    `notes` says how the code was understood, `traces_loss` whether the numbers on which the
    training calls `backward` are those of `loss`.
    """

    recipe: Recipe
    name: str
    repeats: bool
    activation: Activations
    searchable: bool
    notes: tuple[str, ...]
    head: Head
    kind: OutputKind
    own: Code
    shape: tuple[int, ...]
    shuffles: bool = True
    traces_loss: bool = True

    def code(self, problem: Problem) -> Code:
        """The user's code with the rows of the problem."""
        return self.own

    def runs(
        self, problem: Problem, seeds: Sequence[int], report: Report | None
    ) -> tuple[OwnRun, ...]:
        """One training of the user's per seed."""
        made = []
        for i, seed in enumerate(seeds):
            if report is not None:
                report(i, len(seeds))
            run = self.own.run(seed)
            network = self.network_of(run.module)
            made.append(OwnRun(network, self._history(problem, run, network), run.status, seed))
        if report is not None:
            report(len(seeds), len(seeds))
        return tuple(made)

    def network_of(self, module: nn.Module) -> Network:
        """What a module computes, in the form that the diagnosis judges."""
        reading = read_module(module, self.own.X[:LOOKED_AT])
        if reading.network is not None:
            network = self.head.network(reading.network.astype("float64"))
        else:
            network = self._by_outputs(module)
        if not self.head.rescaled:
            return network
        rows = self.own.X.double().reshape(len(self.own.X), -1).numpy()
        y = self.own.y
        labels = (y.argmax(1) if y.is_floating_point() else y).numpy()
        factor = best_temperature(network(rows), labels)
        if isinstance(network, Unread):
            return self._by_outputs(module, factor)
        return scaled_outputs(network, factor)

    def _by_outputs(self, module: nn.Module, factor: float = 1.0) -> Unread:
        module = own_copy(module).eval()

        def evaluated(X: Array) -> Array:
            rows = torch.from_numpy(np.ascontiguousarray(X)).to(self.own.X.dtype)
            out = self.own.outputs_of(module, rows.reshape(-1, *self.shape))
            return factor * self.head.outputs(out.double().reshape(len(X), -1).numpy(), self.kind)

        d_in = int(np.prod(self.shape))
        n = sum(p.numel() for p in module.parameters())
        k = 1 if self.head.single else self.head.classes or 1
        return Unread(evaluated, d_in, k, n)

    def _history(self, problem: Problem, run: Trained, network: Network) -> History:
        """The losses whose gradients were taken, where they are those told here; or the ends."""
        losses = run.seen.loss_values
        end = _mean_loss(problem, network)
        family = self.own.recognised
        plain = any(abs(family.factor - c) < 1e-3 for c in PLAIN_FACTORS)
        if self.head.exact and self.traces_loss and len(losses) > 1 and plain:
            values = losses / family.factor
            if problem.classes is None:
                values = GAUSSIAN_CONSTANT + values / 2
            kept = np.unique(np.linspace(0, len(values) - 1, RECORDS).astype(np.int64))
            return History(np.append(kept, len(values)), np.append(values[kept], end), np.zeros(0))
        if self.own.given:
            return History(np.ones(1, dtype=np.int64), np.array([end]), np.zeros(0))
        start = _mean_loss(problem, self.network_of(self.own.start(run.seed)))
        steps = np.array([0, max(run.seen.steps, 1)], dtype=np.int64)
        return History(steps, np.array([start, end]), np.zeros(0))


def _mean_loss(problem: Problem, network: Network) -> float:
    """Mean nats on the training rows, of the target as it is."""
    rows = np.flatnonzero(~problem.held_out)
    loss = float(problem.losses(outputs(network, problem.raw_X[rows]), rows).mean())
    if problem.classes is not None:
        return loss
    return GAUSSIAN_CONSTANT + (loss - GAUSSIAN_CONSTANT) * problem.loss_scale**2


# ---- posing the question


@dataclass(frozen=True)
class _Rows:
    X: Array  # (n, d_in) numbers
    shape: tuple[int, ...]  # of one row, as the model takes it
    y: torch.Tensor
    table: Table | None
    inputs: tuple[str, ...] = ()  # the names of the encoded columns of a table
    targets: Array | None = None  # as they were given, where there is no table


def torch_question(
    data: Any,
    y: Any,
    *,
    model: nn.Module | None,
    model_fn: Any,
    loss: Loss | None,
    train_fn: Any,
    seed: int,
    held_out: float,
) -> tuple[Problem, TorchSource]:
    """The problem and the source of a user's own code; every sentence of an error is about it."""
    _check_arguments(model, model_fn, loss, train_fn)
    rows = _rows(data, y, seed, held_out)
    given = model is not None
    fn = model_fn if model is None else (lambda: own_copy(model))
    X = input_tensor(rows.X).reshape(-1, *rows.shape)
    whole = Code(fn, loss, train_fn, X, rows.y, X, rows.y, seed, given)
    _check_inputs(whole, rows)
    kind = output_kind(whole)
    rows = replace(rows, y=_labels(whole, kind.n_units))
    whole.y = whole.y_new = rows.y
    ours = loss is None
    if loss is None:
        whole.loss = loss = usual_loss(rows.y, kind).evaluate
    target = _fitting(rows, whole, ours)
    whole.y = whole.y_new = target
    head = head_of(target, whole.outputs, whole.recognised.family, kind)
    table = rows.table or _table(rows, target, head)
    problem = pose(table, Recipe(hidden=()), seed, held_out)
    _check_table(problem, head, rows)
    training, unseen = torch.from_numpy(~problem.held_out), torch.from_numpy(problem.held_out)
    own = Code(
        fn, loss, train_fn, X[training], target[training], X[unseen], target[unseen], seed, given
    )
    reading = own.reading
    recipe, activation = _recipe(own, reading)
    coupled = OPTIMIZERS[recipe.optimizer].coupled_decay
    seen_decay = recipe.weight_decay
    if coupled:
        recipe = replace(recipe, weight_decay=_decay(seen_decay, own))
    plain = any(abs(own.recognised.factor - c) < 1e-3 for c in PLAIN_FACTORS)
    counted = plain and not any(n.norm or n.before for n in reading.layers)  # folded otherwise
    objective = objective_of(own) if head.exact or head.bounded else Objective("")
    other = objective.other
    proper = head.exact and reading.exact_shape and not other
    exact = proper and (counted or not recipe.weight_decay)
    source = TorchSource(
        recipe=recipe,
        name="your module" if given else "your train_fn" if train_fn else "your model",
        repeats=not given,
        activation=activation,
        searchable=head.output == "identity" and reading.exact_shape,
        notes=(
            *_notes(own, reading, head),
            *_about_decay(seen_decay, recipe.weight_decay),
            *((other,) if other else ()),
        ),
        head=head,
        kind=kind,
        own=own,
        shape=rows.shape,
        shuffles=given or train_fn is None or not in_order(own),
        traces_loss=objective.is_loss,
    )
    noted = replace(problem.table, notes=(*problem.table.notes, *source.notes))
    return (
        replace(
            problem,
            table=noted,
            penalty=recipe.weight_decay if coupled and exact else 0.0,
            output=head.output,
            exact=exact,
            bounded=head.bounded and reading.network is not None and not other,
            likelihood=LIKELIHOODS["bernoulli"] if head.single else problem.likelihood,
        ),
        source,
    )


def _check_arguments(model: Any, model_fn: Any, loss: Any, train_fn: Any) -> None:
    if model_fn is not None:
        if isinstance(model_fn, nn.Module):
            raise InvalidInput(
                "model_fn is a module; pass a trained one as model=..., or a function."
            )
        if not callable(model_fn):
            raise InvalidInput(f"model_fn is a {type(model_fn).__name__}; it must be a function.")
        if loss is None:
            raise InvalidInput(
                "got model_fn and no loss; give loss=nn.CrossEntropyLoss(), nn.MSELoss() or yours."
            )
    elif train_fn is not None:
        raise InvalidInput("got train_fn and no model_fn; train_fn trains what model_fn makes.")
    for name, function in (("loss", loss), ("train_fn", train_fn)):
        if function is not None and not callable(function):
            raise InvalidInput(f"{name} is a {type(function).__name__}; it must be a function.")
    if inspect.isclass(loss):
        raise InvalidInput(f"loss is the class {loss.__name__}; give an object: {loss.__name__}().")


def _rows(data: Any, y: Any, seed: int, share: float) -> _Rows:
    if isinstance(data, Table):
        table = own_table(data, y)
        posed = pose(table, Recipe(hidden=()), seed, share)
        X = posed.raw_X
        return _Rows(X, X.shape[1:], target_tensor(table.y), table, posed.feature_names)
    if y is None:
        raise InvalidInput("got X and no y; give the targets as y.")
    numbers = data.detach().cpu().numpy() if isinstance(data, torch.Tensor) else np.asarray(data)
    if numbers.dtype.kind not in "biuf":
        table = as_table(data, _flat(y))
        return _rows(table, None, seed, share)
    if numbers.ndim < 2:
        raise InvalidInput(f"X has shape {numbers.shape}; it needs rows and columns.")
    X = numbers.reshape(len(numbers), -1).astype(np.float64)
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0]
        raise InvalidInput(
            f"X[{i}, {j}] is {X[i, j]}, and your model would be given it as it is: fill or drop "
            "such rows first."
        )
    targets = y if isinstance(y, torch.Tensor) else np.asarray(y)
    if not isinstance(targets, torch.Tensor) and targets.dtype.kind not in "biuf":
        return _rows(as_table(X, targets), None, seed, share)
    if len(targets) != len(X):
        raise InvalidInput(f"X has {len(X)} rows and y has {len(targets)}; give one per row.")
    exact = np.asarray(_flat(targets), dtype=np.float64)
    return _Rows(X, numbers.shape[1:], target_tensor(targets), None, targets=exact)


def _flat(y: Any) -> Any:
    return y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y


def _labels(code: Code, n_units: int) -> torch.Tensor:
    """Classes written as 0.0, 1.0, ... as whole numbers, where there are several outputs.

    They are classes where the loss takes no such floats, or is one of classes all the same;
    without a loss, where each is the number of an output.
    """
    y = code.y
    if n_units < 2 or not y.is_floating_point() or y.numel() != len(y):
        return y
    labels = y.to(torch.int64)
    if not bool((labels == y).all()) or labels.min() < 0:
        return y
    if code.loss is None:
        return labels if labels.max() < n_units else y
    if not takes(code.loss, code.outputs, y[: len(code.outputs)]):
        return labels
    family = recognise_loss(code.loss, code.outputs, labels).family
    return labels if family is not None and family.likelihood == "categorical" else y


def _fitting(rows: _Rows, code: Code, ours: bool) -> torch.Tensor:
    """The targets as the loss takes them; with a table or no loss, in the shape of the outputs."""
    y, out = rows.y, code.outputs
    if rows.table is None and not ours:
        return fitting_target(code.loss, out, y)
    n_units = out.shape[1] if out.ndim == 2 else 1
    if n_units == 1:
        return y.to(out.dtype).reshape(-1, *out.shape[1:])
    return fitting_target(code.loss, out, y)


def _table(rows: _Rows, y: torch.Tensor, head: Head) -> Table:
    """The rows as a table whose class k is the user's output k."""
    if head.classes is None:
        assert rows.targets is not None
        return as_table(rows.X, rows.targets.reshape(len(y)), task="regression")
    labels = y.argmax(1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)
    codes = labels.to(torch.int64).numpy()
    if codes.min() < 0 or codes.max() >= head.classes:
        raise InvalidInput(
            f"the labels go from {codes.min()} to {codes.max()} and the model has {head.classes} "
            "outputs; labels must be 0, 1, ... up to one less than the outputs."
        )
    return as_table(rows.X, codes, classes=[str(k) for k in range(head.classes)])


def _check_inputs(code: Code, rows: _Rows) -> None:
    """Tell of encoded columns where the model takes another number of inputs than there are."""
    try:
        code.outputs_of(code.fresh, code.X[:LOOKED_AT])
    except InvalidInput:
        taken = first_width(code.fresh)
        if rows.table is None or taken in (None, len(rows.inputs)):
            raise
        raise InvalidInput(
            f"the {len(rows.table.feature_names)} columns of the table were encoded into "
            f"{len(rows.inputs)} inputs ({_some(rows.inputs)}), and the model takes {taken}; give "
            f"it {len(rows.inputs)}, or leave columns out."
        ) from None


def first_width(module: nn.Module) -> int | None:
    """The inputs that the first layer of a module takes, as far as it says so."""
    widths = (getattr(part, "in_features", None) for part in module.modules())
    return next((width for width in widths if isinstance(width, int)), None)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _check_table(problem: Problem, head: Head, rows: _Rows) -> None:
    k = len(problem.classes) if problem.classes else None
    if k != head.classes:
        told = f"{k} classes" if k else "numbers"
        raise InvalidInput(
            f"the target {problem.table.target_name!r} has {told}, and the model's outputs are for "
            f"{f'{head.classes} classes' if head.classes else 'numbers'}; they must agree."
        )
    if problem.raw_X.shape[1] != rows.X.shape[1]:
        raise InvalidInput("the columns of X are not those of the table.")


# ---- what is known of the training


def _recipe(code: Code, reading: Reading) -> tuple[Recipe, Activations]:
    """What the training was seen to do; a full run of it is made for the number of steps."""
    network = reading.network
    hidden = STAND_IN if network is None else network.hidden
    read = network.activations if network is not None else ()
    activation = as_activations(read or "relu")
    settings: dict[str, Any] = {"hidden": hidden, "activation": text_of(activation)}
    if code.given:
        return Recipe(**settings), activation
    if code.train_fn is None:
        more = {"learning_rate": RATE, "steps": STEPS, "batch_size": min(BATCH, len(code.X))}
        return Recipe(**settings, **more), activation
    seen = code.run(code.seed).seen
    return Recipe(**settings, **_seen_settings(seen, len(code.X))), activation


def _seen_settings(seen: Seen, n: int) -> dict[str, Any]:
    name = seen.optimizer.lower()
    known = name in OPTIMIZERS and name != "lbfgs"
    made: dict[str, Any] = {"optimizer": name if known else "adam"}
    if known and seen.settings.get("lr", 0.0) > 0:
        made["learning_rate"] = seen.settings["lr"]
        made["weight_decay"] = seen.settings.get("weight_decay", 0.0)
    if seen.steps:
        made["steps"] = seen.steps
    size = seen.batch_size
    if size is not None and size < n:
        made["batch_size"] = size
    return made


def _decay(decay: float, code: Code) -> float:
    """The decay beside the loss that is told here: c L + decay / 2 |theta|^2, divided by c.

    A squared error is twice the negative log-likelihood, up to a constant.
    """
    family = code.recognised.family
    c = code.recognised.factor * (2.0 if family and family.likelihood == "gaussian" else 1.0)
    return decay / c


def _about_decay(seen: float, told: float) -> tuple[str, ...]:
    """The decay that is told beside the user's own number, where they differ."""
    if math.isclose(seen, told, rel_tol=1e-3):
        return ()
    return (
        f"your weight decay of {seen:g} is told as {told:g}, because your loss is {seen / told:g} "
        "times the one that is told here: the two sums have the same minima",
    )


def _notes(code: Code, reading: Reading, head: Head) -> tuple[str, ...]:
    """How the code was understood, a sentence each."""
    notes = []
    if code.loss is not None:
        notes.append(f"your loss was recognised as: {code.recognised.name}")
    if reading.network is None:
        notes.append(f"{reading.reason} The verdict rests on its outputs")
    elif not reading.exact_shape:
        notes.append("a layer of yours has no bias: no other parameters were searched")
    if head.single:
        notes.append("your single output is the logit of the second class, or its probability")
    if head.rescaled:
        notes.append("your outputs are no logits: they are judged with the best common factor")
    if not head.exact:
        notes.append("your objective is not the loss that is told here: nothing is proved about it")
    if code.given:
        notes.append("rows that your model was trained on may be among those held out here")
    return tuple(notes)


__all__ = ["TorchSource", "torch_question"]
