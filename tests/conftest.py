"""Shapes and types of every pellucid function are checked while the tests run."""

import os
import signal

import jaxtyping
import numpy as np
import pytest
import references
import typechecking
from hypothesis import settings

# The tests run side by side: threads that wait for each other in busy loops (PyTorch, gradient
# boosting) would take ten times longer. Set before any of those libraries is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background has them ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

jaxtyping.jaxtyped = typechecking.jaxtyped
jaxtyping.install_import_hook("pellucid", "typechecking.check")
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def checks_of_this_test():
    """Types are checked as often in a test whether it runs first or last."""
    typechecking.begin_test()


@pytest.fixture(autouse=True)
def draws_of_this_test(request):
    """A module's RNG begins anew in every test: what is drawn does not depend on other tests."""
    rng = getattr(request.module, "RNG", None)
    if isinstance(rng, np.random.Generator):
        rng.bit_generator.state = np.random.default_rng(1).bit_generator.state


@pytest.fixture
def as_users_run():
    """Switch the type checks off: what a user's wrong argument meets is then our own message."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def isa(request, monkeypatch):
    """Run the test once on each instruction set that this machine has."""
    from pellucid._kernels import native_module

    native = native_module()
    assert native is not None, "the compiled kernel is not built: pip install -e ."
    if request.param not in native.instruction_sets():
        # A processor without these instructions cannot run this case; baseline runs everywhere.
        pytest.skip(f"no {request.param} on this machine or in this build")
    monkeypatch.setenv("PELLUCID_ISA", request.param)
    assert native.instruction_set() == request.param
    return request.param


def _distribution(spec, z, y):
    """Negative log densities by torch's own distributions; z is (n, targets, outputs of each)."""
    import torch
    from torch import distributions as d

    name, *parameters = spec.replace("(", ",").replace(")", "").split(",")
    numbers = [float(p) for p in parameters]
    floor = 1e-3
    if name == "mean_variance":
        return -d.Normal(z[..., 0], (floor**2 + z[..., 1].exp()).sqrt()).log_prob(y)
    if name == "laplace":
        return -d.Laplace(z[..., 0], floor + z[..., 1].exp()).log_prob(y)
    if name == "student_t":
        nu = numbers[0] if numbers else z[..., 2].exp()
        return -d.StudentT(nu, z[..., 0], floor + z[..., 1].exp()).log_prob(y)
    if name == "poisson":
        return -d.Poisson(z[..., 0].exp()).log_prob(y)
    if name == "negative_binomial":
        r = z[..., 1].exp()
        return -d.NegativeBinomial(r, logits=z[..., 0] - z[..., 1]).log_prob(y)
    if name == "quantile":
        tau = torch.tensor(numbers or [0.1, 0.5, 0.9], dtype=z.dtype)
        u = y[..., None] - z
        return torch.maximum(tau * u, (tau - 1) * u).sum(dim=-1)
    assert name == "mixture"
    a, mu, t = z.chunk(3, dim=-1)
    of_each = d.Normal(mu, floor + t.exp())
    return -d.MixtureSameFamily(d.Categorical(logits=a), of_each).log_prob(y)


def torch_losses(spec, outputs, y):
    """The loss of each row in torch's words, for its autograd: shares no formula with the package.

    `spec` is text such as "student_t(4)", `outputs` (n, d_out) and `y` are tensors.
    """
    import torch
    from torch.nn import functional as F

    if spec == "gaussian":
        one = torch.ones_like(outputs)
        return F.gaussian_nll_loss(outputs, y, one, full=True, reduction="none").sum(1)
    if spec == "bernoulli":
        return F.binary_cross_entropy_with_logits(outputs, y, reduction="none").sum(1)
    if spec == "categorical":
        return F.cross_entropy(outputs, y, reduction="none")
    if spec == "ordinal":
        steps = torch.cat([outputs[:, :1], F.softplus(outputs[:, 1:])], dim=1)
        below = F.pad(torch.sigmoid(steps.cumsum(dim=1)), (0, 1), value=1.0)
        p = torch.diff(below, dim=1, prepend=torch.zeros_like(below[:, :1]))
        return -p.gather(1, y[:, None])[:, 0].log()
    z = outputs.reshape(len(outputs), y.shape[1], -1)
    losses = _distribution(spec, z, y)
    if spec == "mean_variance(0.5)":
        losses = losses * (1e-6 + z[..., 1].exp()).sqrt().detach()
    return losses.sum(dim=1)


@pytest.fixture(scope="session")
def torch_oracle():
    """The function above, for test modules."""
    return torch_losses


@pytest.fixture
def reference(request):
    """The reference values; the test must read all those that it answers for."""
    read = set()
    yield references.Recorded(references.VALUES, read)
    file = request.path.relative_to(references.TESTS).as_posix()
    never = references.never_read(f"{file}::{request.node.originalname}", read)
    assert not never, "values that this test answers for and never read"
