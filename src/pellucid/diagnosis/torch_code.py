"""A user's own PyTorch code as one object: model, loss, training, and the rows that they take."""

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from .._errors import InvalidInput, PellucidError
from .._shapes import Array
from .torch_loss import Loss, RecognisedLoss, number_of, recognise_loss, takes
from .torch_reading import Reading, read_module
from .torch_spy import Seen, spying
from .torch_state import are_finite, evaluate, global_state_kept, own_copy, seed_everything

ModelFn = Callable[..., nn.Module]
TrainFn = Callable[[nn.Module, torch.Tensor, torch.Tensor], Any]

STEPS, RATE, BATCH = 1000, 0.01, 64
"""The training that is used where none is given: Adam at this rate, shuffled batches."""
PROBE_STEPS = 24
LOOKED_AT = 256
"""Rows on which a module is looked at."""


@dataclass(frozen=True)
class Trained:
    """A module after the user's training, what was seen of it, and how it ended."""

    module: nn.Module
    seen: Seen
    status: str
    seed: int


@dataclass(eq=False)
class Code:
    """The user's model, loss and training on training rows (X, y) and held-out rows.

    `y` has the shape and type that the user's loss is called with. Every module that is worked on
    is a copy, and the global states of torch, NumPy and `random` are as before after every method.
    """

    model_fn: ModelFn
    loss: Loss | None
    train_fn: TrainFn | None
    X: torch.Tensor
    y: torch.Tensor
    X_new: torch.Tensor
    y_new: torch.Tensor
    seed: int = 0
    given: bool = False  # one trained module: model_fn returns copies of it
    runs: dict[int, Trained] = field(default_factory=dict)

    # ---- making and training modules

    def start(self, seed: int | None = None) -> nn.Module:
        """A new module with the initial parameters of a seed."""
        with global_state_kept():
            return self._start(self.seed if seed is None else seed)

    def _start(self, seed: int) -> nn.Module:
        seed_everything(seed)
        with user_code("model_fn"):
            module = call_model_fn(self.model_fn, seed)
        if not isinstance(module, nn.Module):
            raise InvalidInput(
                f"model_fn returned a {type(module).__name__}; it must return an nn.Module."
            )
        return own_copy(module)

    def run(self, seed: int) -> Trained:
        """The user's training from a seed; made once."""
        if seed not in self.runs:
            self.runs[seed] = self.train(seed, gradients=seed == self.seed)
        return self.runs[seed]

    def train(
        self,
        seed: int | None = None,
        *,
        module: nn.Module | None = None,
        X: torch.Tensor | None = None,
        y: torch.Tensor | None = None,
        loss: Loss | None = None,
        steps: int | None = None,
        **how: Any,
    ) -> Trained:
        """Train a new module (or a copy of the one given) as the user does."""
        seed = self.seed if seed is None else seed
        X, y = self.X if X is None else X, self.y if y is None else y
        with global_state_kept():
            own = self._start(seed) if module is None else own_copy(module)
            if self.given:
                return Trained(own, Seen(), "finished", seed)
            seed_everything(seed)
            fn = self.train_fn or default_train_fn(loss or self._loss())
            with spying(own, X, steps=steps, **how) as seen, user_code("train_fn"):
                returned = fn(own, X.clone(), y.clone())
                if isinstance(returned, nn.Module):
                    own = returned
            return _judged(own, seen, seed)

    def _loss(self) -> Loss:
        if self.loss is None:
            raise InvalidInput("got model_fn and no loss; give loss=nn.MSELoss() or yours.")
        return self.loss

    # ---- what is known without training, and from a few steps of it

    @cached_property
    def probed(self) -> Trained:
        """A few steps of the user's training, looked at closely."""
        return self.train(steps=PROBE_STEPS, closely=True)

    @property
    def probe(self) -> Seen:
        """What was seen of them; nothing where the module is given."""
        return self.probed.seen

    @cached_property
    def fresh(self) -> nn.Module:
        """The module of the user's seed before training."""
        return self.start()

    @cached_property
    def trained(self) -> nn.Module:
        """The module of the user's seed after training."""
        return self.run(self.seed).module

    @cached_property
    def outputs(self) -> torch.Tensor:
        """What the untrained module returns for some training rows."""
        return self.outputs_of(self.fresh, self.X[:LOOKED_AT])

    def outputs_of(self, module: nn.Module, X: torch.Tensor) -> torch.Tensor:
        """What a module returns in evaluation mode."""
        with global_state_kept(), user_code("the model's forward"):
            seed_everything(self.seed)
            out = evaluate(module, X)
        if out.ndim == 0 or len(out) != len(X):
            raise InvalidInput(
                f"the model returns shape {tuple(out.shape)} for {len(X)} rows; a diagnosis needs "
                "a row of outputs for every row of the input."
            )
        return out

    @cached_property
    def reading(self) -> Reading:
        """The untrained module as a network."""
        return read_module(self.fresh, self.X[:LOOKED_AT])

    @cached_property
    def recognised(self) -> RecognisedLoss:
        """Which loss the user's is, on the user's shapes."""
        if self.loss is None:
            return RecognisedLoss(None)
        return recognise_loss(self.loss, self.outputs, self.y)

    def value(self, module: nn.Module, X: torch.Tensor, y: torch.Tensor) -> float:
        """The user's loss in evaluation mode, as one call on all of these rows; nan if refused."""
        if self.loss is None:
            return float("nan")
        return number_of(self.loss, self.outputs_of(module, X), y)

    def with_model(self, module: nn.Module) -> "Code":
        """The same training of another module."""
        return replace(self, model_fn=lambda: own_copy(module), runs={})


def _judged(module: nn.Module, seen: Seen, seed: int) -> Trained:
    """After parameters that are no numbers, the last state that was seen to be finite."""
    if are_finite(module.state_dict().values()):
        return Trained(module, seen, "finished", seed)
    if seen.last_finite is not None:
        module.load_state_dict(seen.last_finite)
    return Trained(module, seen, "diverged", seed)


def call_model_fn(model_fn: ModelFn, seed: int) -> Any:
    """Call it with the seed where it takes one: a parameter `seed`, or a single required one."""
    try:
        parameters = list(inspect.signature(model_fn).parameters.values())
    except (TypeError, ValueError):
        return model_fn(seed)
    for p in parameters:
        if p.name == "seed" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            return model_fn(seed=seed)
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.default is p.empty and p.kind in places]
    return model_fn(seed) if len(required) == 1 else model_fn()


def default_train_fn(loss: Loss, steps: int = STEPS, rate: float = RATE) -> TrainFn:
    """Adam on shuffled batches, in training mode: used where no train_fn is given."""

    def train(model: nn.Module, X: torch.Tensor, y: torch.Tensor) -> None:
        model.train()
        parameters = [p for p in model.parameters() if p.requires_grad]
        if not parameters:
            raise InvalidInput("the model has no parameters that could be trained.")
        optimizer = torch.optim.Adam(parameters, lr=rate)
        n, batch = len(X), min(BATCH, len(X))
        order, place = torch.randperm(n), 0
        for _ in range(steps):
            if place + batch > n:
                order, place = torch.randperm(n), 0
            rows = order[place : place + batch]
            place += batch
            optimizer.zero_grad()
            loss(model(X[rows]), y[rows]).backward()
            optimizer.step()

    return train


# ---- errors of the user's code


@contextmanager
def user_code(what: str) -> Iterator[None]:
    """Tell an exception of the user's code in one sentence, with its file and line."""
    try:
        yield
    except PellucidError:
        raise
    except Exception as error:  # a user's code may raise anything, and the sentence tells it
        raise InvalidInput(told(error, what)) from None


def told(error: BaseException, what: str) -> str:
    """One sentence: what failed, where, and what Python said."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(f.filename)]
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split()) or "no message"
    return f"{what} failed{place}: {type(error).__name__}: {text:.300}"


def _is_users(filename: str) -> bool:
    here = Path(__file__).resolve().parents[1]
    path = Path(filename)
    if filename.startswith("<") or "torch" in path.parts or "site-packages" in path.parts:
        return filename.startswith("<ipython")
    return here not in path.parents


# ---- arrays and tensors


def input_tensor(X: Array | torch.Tensor) -> torch.Tensor:
    """Rows as torch's default number type."""
    made = X.detach().cpu() if isinstance(X, torch.Tensor) else torch.from_numpy(np.array(X))
    return made.to(torch.get_default_dtype())


def target_tensor(y: Any) -> torch.Tensor:
    """Targets in the user's own shape: whole numbers as int64, others in torch's default type."""
    made = y.detach().cpu() if isinstance(y, torch.Tensor) else torch.from_numpy(np.array(y))
    if made.is_floating_point():
        return made.to(torch.get_default_dtype())
    return made.to(torch.int64)


def fitting_target(loss: Loss | None, outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whole-number targets as floats where the loss takes no whole numbers."""
    if loss is None or y.is_floating_point():
        return y
    n = min(len(outputs), len(y), 8)
    for made in (y, y.to(torch.get_default_dtype())):
        if takes(loss, outputs[:n], made[:n]):
            return made
    return y
