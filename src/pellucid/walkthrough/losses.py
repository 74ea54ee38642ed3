"""The loss of each likelihood as an equation, and with the numbers of one example in it."""

from ..likelihoods import Likelihood
from ._count_losses import NegativeBinomialForm, OrdinalForm, PoissonForm
from ._loss_form import BernoulliForm, CategoricalForm, GaussianForm, LossForm, QuantileForm
from ._scale_losses import LaplaceForm, MeanVarianceForm, MixtureForm, StudentTForm
from .dialects import Letters

LOSSES: dict[str, type[LossForm]] = {
    "gaussian": GaussianForm,
    "bernoulli": BernoulliForm,
    "categorical": CategoricalForm,
    "mean_variance": MeanVarianceForm,
    "laplace": LaplaceForm,
    "student_t": StudentTForm,
    "poisson": PoissonForm,
    "negative_binomial": NegativeBinomialForm,
    "ordinal": OrdinalForm,
    "quantile": QuantileForm,
    "mixture": MixtureForm,
}


def other_loss(e: Letters) -> str:
    """The loss of a likelihood without an entry; its own words say the rest."""
    d, y = e.dialect, e.dialect.letter("y", None, e.row)
    return f"{d.minus.strip()}{d.function('log', f'{d.p}({y} | {e.outputs})')}"


def words_of(likelihood: Likelihood) -> list[str]:
    """What the likelihood itself says of its outputs, its loss and its derivative."""
    told = ("Outputs", likelihood), ("Loss", likelihood.loss), ("Derivative", likelihood.gradient)
    found = [(what, (thing.__doc__ or "").strip().split("\n\n")[0]) for what, thing in told]
    return [f"{what}: {' '.join(text.split())}" for what, text in found if text]
