"""The rows that need PyTorch: its own random stream, and what its modules register."""

from dataclasses import dataclass

from .._shapes import Array, Float32

NEEDED = "not computed: it needs PyTorch (pip install 'pellucid[torch]')"


def is_installed() -> bool:
    """Whether PyTorch can be imported."""
    try:
        import torch  # noqa: F401  # only whether it is there
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class TwinDraws:
    """What `torch.manual_seed(0)` gives for the chapter's network, its inputs and its twin."""

    W1: Float32[Array, "5 3"]
    b1: Float32[Array, " 5"]
    W2: Float32[Array, "1 5"]
    b2: Float32[Array, " 1"]
    x: Float32[Array, "1000 3"]
    order: Array
    factors: Float32[Array, " 5"]


def twin_draws() -> TwinDraws:
    """Draw in the chapter's order: network, 1,000 inputs, a second network, order, factors."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, last = nn.Linear(3, 5), nn.Linear(5, 1)
        x = torch.randn(1000, 3)
        for shape in ((3, 5), (5, 1)):
            nn.Linear(*shape)  # the twin's own draws, which are overwritten there
        order = torch.randperm(5)
        factors = torch.rand(5) + 0.5
    W1, b1, W2, b2 = (
        p.detach().numpy() for p in (first.weight, first.bias, last.weight, last.bias)
    )
    return TwinDraws(W1, b1, W2, b2, x.numpy(), order.numpy(), factors.numpy())


def registers_plain_tensor() -> bool:
    """Whether a module lists a tensor that is set as an ordinary attribute as a parameter."""
    import torch

    module = torch.nn.Module()
    module.plain = torch.ones(3)
    return len(list(module.parameters())) > 0


def registered_shapes() -> list[str]:
    """Names and shapes of the parameters of the lesson's flower classifier, 4-8-3."""
    from torch import nn

    flower = nn.Module()
    flower.hidden, flower.output = nn.Linear(4, 8), nn.Linear(8, 3)
    return [f"{name} {list(parameter.shape)}" for name, parameter in flower.named_parameters()]
