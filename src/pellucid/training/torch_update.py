"""The optimizers of the torch engine, and their memory in a run's state."""

from collections.abc import Callable

import torch
from torch import Tensor

from .._kernels import TrainingJob
from .._kernels.schedules import learning_rate
from .._kernels.state import Run
from .torch_lbfgs import Lbfgs
from .torch_network import TorchNetwork
from .torch_tables import MEMORY, OPTIMIZERS


class Update:
    """An optimizer that follows ``theta.grad``; one call is one update.

    What it remembers are the vectors ``first`` and ``second`` of the run, as in the other engines.
    """

    def __init__(
        self, job: TrainingJob, network: TorchNetwork, run: Run, loss: Callable[[], Tensor]
    ):
        self._job, self._network, self._run = job, network, run
        self._optimizer = OPTIMIZERS[job.optimizer](job, [network.theta])
        if run.step:
            self._restore()

    def status_at(self, loss: Tensor) -> str:
        """These go on whatever the gradient is."""
        return "finished"

    def __call__(self) -> str:
        """Change the parameters; the run goes on."""
        self._network.adjust_gradient()
        rate = learning_rate(self._job, self._run.step, self._run.plateau.rate)
        self._optimizer.param_groups[0]["lr"] = rate
        self._optimizer.step()
        return "finished"

    def _restore(self) -> None:
        """Give the optimizer the run's memory."""
        theta = self._network.theta
        memory = self._optimizer.state[theta]
        device = theta.device if self._optimizer.defaults.get("fused") else "cpu"
        memory["step"] = torch.tensor(float(self._run.step), device=device)
        for name, vector in MEMORY[self._job.optimizer].items():
            memory[name] = torch.from_numpy(getattr(self._run, vector).copy()).to(theta.device)

    def to_host(self) -> None:
        """Bring the optimizer's memory into the run."""
        memory = self._optimizer.state[self._network.theta]
        for name, vector in MEMORY[self._job.optimizer].items():
            if memory.get(name) is not None:
                getattr(self._run, vector)[:] = memory[name].cpu().numpy()


#: name -> what makes the updates
UPDATES: dict[str, type[Update] | type[Lbfgs]] = dict.fromkeys(OPTIMIZERS, Update)
UPDATES["lbfgs"] = Lbfgs
