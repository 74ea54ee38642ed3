"""Other people's objects stay as they are: own copies, and every global state put back."""

import copy
import math
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from .._errors import InvalidInput


@contextmanager
def global_state_kept() -> Iterator[None]:
    """Put back the generators of torch, NumPy and `random`, and torch's global switches."""
    torch_state, numpy_state, python_state = (
        torch.get_rng_state(),
        np.random.get_state(),  # noqa: NPY002  # the user's code may draw from it
        random.getstate(),
    )
    switches = [read() for read, _ in _SWITCHES]
    try:
        with (
            torch.random.fork_rng(devices=_cuda_devices()),
            torch.enable_grad(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # those of the user's own code, run many times
            yield
    finally:
        torch.set_rng_state(torch_state)
        np.random.set_state(numpy_state)  # noqa: NPY002  # as above
        random.setstate(python_state)
        for (read, put_back), before in zip(_SWITCHES, switches, strict=True):
            if read() != before:
                put_back(before)


def _cudnn() -> tuple[bool, bool]:
    return torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark


def _set_cudnn(flags: tuple[bool, bool]) -> None:
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = flags


_SWITCHES: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_num_threads, torch.set_num_threads),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda both: torch.autograd.set_detect_anomaly(*both),
    ),
    (
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        lambda both: torch.use_deterministic_algorithms(both[0], warn_only=both[1]),
    ),
    (_cudnn, _set_cudnn),
)
"""torch's global switches: how each is read, and how it is set to what was read."""


def seed_everything(seed: int) -> None:
    """Seed the generators that a user's code may draw from."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  # the user's code may draw from it
    random.seed(seed)


def own_copy(module: nn.Module) -> nn.Module:
    """A deep copy that shares nothing; hooks of the user's are left out, those of torch stay."""
    try:
        twin = copy.deepcopy(module)
    except Exception as error:  # a module may hold anything, and refuse in its own way
        raise InvalidInput(
            f"the {type(module).__name__} cannot be copied ({type(error).__name__}: {error}); "
            "give a model_fn that makes a new one."
        ) from None
    for part in twin.modules():
        for hooks in _hooks_of(part):
            for key in [k for k, hook in hooks.items() if not _of_torch(hook)]:
                del hooks[key]
    return twin


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether all stored numbers are finite; those of a sparse tensor are its values."""
    return bool(torch.isfinite(stored(tensor)).all())


def are_finite(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether all of them are finite; whole numbers are."""
    return all(is_finite(tensor) for tensor in tensors if tensor.is_floating_point())


def not_finite(named: dict[str, Any]) -> list[str]:
    """The names of those tensors that hold a number that is not finite."""
    usual = [t.detach() for t in named.values() if t.dtype in _USUAL and t.layout == torch.strided]
    if len(usual) == len(named) and all(map(math.isfinite, norms(usual))):
        return []  # one call for all; the norm of very large numbers is not finite either
    return [name for name, tensor in named.items() if not is_finite(tensor)]


def norms(tensors: list[torch.Tensor]) -> list[float]:
    """Euclid's norm of each; one call and, on one device, one wait for all of them."""
    found = _all_norms([tensor.detach() for tensor in tensors]) if tensors else []
    is_one_device = len({norm.device for norm in found}) == 1
    return torch.stack(found).tolist() if is_one_device else list(map(float, found))


def stored(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers that a tensor of any layout stores, without their places."""
    values = tensor.detach()
    if values.layout == torch.sparse_coo:
        return values.coalesce().values()
    return values if values.layout == torch.strided else values.values()


def device_type(module: nn.Module) -> str:
    """Where the parameters are, "cpu" if there are none."""
    return next((p.device.type for p in module.parameters()), "cpu")


def in_float64(module: nn.Module) -> nn.Module:
    """A copy in evaluation mode with float64 parameters and buffers."""
    return own_copy(module).double().eval()


@torch.no_grad()
def evaluate(module: nn.Module, X: torch.Tensor) -> torch.Tensor:
    """The outputs in evaluation mode, without touching the module's own mode."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        out = module(X)
    finally:
        for part, mode in modes:
            part.training = mode
    if not isinstance(out, torch.Tensor):
        raise InvalidInput(
            f"the model returns a {type(out).__name__}; a diagnosis needs one tensor, with a row "
            "for every row of the input."
        )
    return out.detach()


def _hooks_of(part: nn.Module) -> list[Any]:
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [getattr(part, name) for name in names if getattr(part, name, None)]


def _of_torch(hook: Any) -> bool:
    home = getattr(hook, "__module__", None) or type(hook).__module__
    return str(home).split(".")[0] == "torch"


def _cuda_devices() -> list[int]:
    started = torch.cuda.is_available() and torch.cuda.is_initialized()
    return list(range(torch.cuda.device_count())) if started else []


_USUAL = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
_all_norms: Any = vars(torch)["_foreach_norm"]  # one call for all, as torch's optimizers make


class Guard:
    """What fails inside is told to `fails`, and ends there.

    A watch works with somebody's own tensors and modules, which may raise anything; that must not
    end their training.
    """

    __slots__ = ("_fails",)

    def __init__(self, fails: Callable[[Exception], object]):
        self._fails = fails

    def __enter__(self) -> None:
        """Nothing is begun."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        """Keep what went wrong from going on; Ctrl-C does."""
        if not isinstance(error, Exception):
            return False
        self._fails(error)
        return True
