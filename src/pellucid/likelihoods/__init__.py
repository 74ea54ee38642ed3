"""Output heads: network outputs and targets to losses in nats, and their gradients."""

from .base import Likelihood
from .bernoulli import Bernoulli
from .categorical import Categorical
from .gaussian import Gaussian
from .table import LIKELIHOODS, as_likelihood

__all__ = ["LIKELIHOODS", "Bernoulli", "Categorical", "Gaussian", "Likelihood", "as_likelihood"]
