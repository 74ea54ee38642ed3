"""L-BFGS of the torch engine: `_kernels.lbfgs` with its vectors on the device.

The line search is that module's own; it sees numbers alone.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .._kernels import TrainingJob
from .._kernels.lbfgs import LineSearch, Point, status_at
from .._kernels.state import Run
from .._shapes import Float
from .torch_network import TorchNetwork


class Lbfgs:
    """One call is one iteration on the objective loss + weight_decay / 2 |theta|^2.

    ``loss`` evaluates the loss of all rows, and leaves its gradient in ``theta.grad``.
    """

    def __init__(
        self, job: TrainingJob, network: TorchNetwork, run: Run, loss: Callable[[], Tensor]
    ):
        self._job, self._theta, self._loss = job, network.theta, loss
        self._memory = run.memory
        device = network.theta.device
        self._s = torch.from_numpy(run.memory.s).to(device, copy=True)
        self._y = torch.from_numpy(run.memory.y).to(device, copy=True)
        self._f, self._g = 0.0, self._theta

    def status_at(self, loss: Float[Tensor, ""]) -> str:
        """Take over loss and gradient of a step, and say whether to go on from there."""
        self._f, self._g = self._with_decay(loss)
        return status_at(self._f, self._g.abs().max().item())

    def __call__(self) -> str:
        """Go to the next parameters; "converged" where none along the direction are lower."""
        memory, theta, f, g = self._memory, self._theta, self._f, self._g
        start = theta.clone()
        while True:
            d, gradients = self._direction(g), {}

            def at(t: float, d: Tensor = d, gradients: dict[float, Tensor] = gradients) -> Point:
                torch.add(start, d, alpha=t, out=theta)
                value, gradients[t] = self._with_decay(self._loss())
                return Point(t, value, _dot(gradients[t], d))

            origin = Point(0.0, f, _dot(g, d))
            if origin.slope < 0:
                size = 1.0 if memory.pairs else _wide(g).abs().sum().item()
                search = LineSearch(at, origin, d.abs().max().item())
                found = search.start(self._job.learning_rate * min(1.0, 1.0 / size))
                if found.t > 0 and found.f < f:
                    self._add(found.t * d, gradients[found.t] - g)
                    torch.add(start, d, alpha=found.t, out=theta)
                    return "finished"
            if memory.pairs == 0:
                theta.copy_(start)
                return "converged"
            memory.pairs, memory.scale = 0, 1.0

    def to_host(self) -> None:
        """Bring the pairs into the run."""
        self._memory.s[:], self._memory.y[:] = self._s.cpu().numpy(), self._y.cpu().numpy()

    def _with_decay(self, loss: Float[Tensor, ""]) -> tuple[float, Float[Tensor, " p"]]:
        """The objective and its gradient, from a loss and ``theta.grad``."""
        theta, decay = self._theta, self._job.weight_decay
        assert theta.grad is not None
        f = loss.item() + decay / 2 * _dot(theta, theta)
        return f, theta.grad.add(theta, alpha=decay)

    def _direction(self, g: Float[Tensor, " p"]) -> Float[Tensor, " p"]:
        """-H g, by the two loops over the pairs: newest to oldest, and back."""
        memory, m, d, alpha = self._memory, len(self._s), -g, {}
        rows = [i % m for i in range(max(memory.pairs - m, 0), memory.pairs)]
        for row in reversed(rows):
            alpha[row] = _dot(self._s[row], d) / memory.sy[row].item()
            d.sub_(self._y[row], alpha=alpha[row])
        d.mul_(memory.scale)
        for row in rows:
            beta = _dot(self._y[row], d) / memory.sy[row].item()
            d.add_(self._s[row], alpha=alpha[row] - beta)
        return d

    def _add(self, s: Float[Tensor, " p"], y: Float[Tensor, " p"]) -> None:
        """Keep a pair that shows curvature."""
        memory, sy = self._memory, _dot(s, y)
        if sy > 1e-10:
            row = memory.pairs % len(self._s)
            self._s[row], self._y[row], memory.sy[row] = s, y, sy
            memory.scale = sy / _dot(y, y)
            memory.pairs += 1


def _wide(vector: Tensor) -> Tensor:
    """In float64 where the device has it."""
    return vector if vector.device.type == "mps" else vector.double()


def _dot(a: Tensor, b: Tensor) -> float:
    return torch.dot(_wide(a), _wide(b)).item()
