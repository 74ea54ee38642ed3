"""Output heads: network outputs and targets to losses in nats, and their gradients."""

from .base import Likelihood
from .bernoulli import Bernoulli
from .categorical import Categorical
from .gaussian import Gaussian
from .laplace import Laplace
from .mean_variance import MeanVariance
from .mixture import Mixture
from .negative_binomial import NegativeBinomial
from .ordinal import Ordinal
from .poisson import Poisson
from .quantile import Quantile
from .student_t import StudentT
from .table import LIKELIHOODS, as_likelihood

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "Categorical",
    "Gaussian",
    "Laplace",
    "Likelihood",
    "MeanVariance",
    "Mixture",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "Quantile",
    "StudentT",
    "as_likelihood",
]
