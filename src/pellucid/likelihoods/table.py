"""The likelihoods by name."""

from .._errors import InvalidInput
from .base import Likelihood
from .bernoulli import Bernoulli
from .categorical import Categorical
from .gaussian import Gaussian

LIKELIHOODS: dict[str, Likelihood] = {
    member.name: member for member in (Gaussian(), Bernoulli(), Categorical())
}


def as_likelihood(name_or_likelihood: str | Likelihood) -> Likelihood:
    """The likelihood of that name; a `Likelihood` is returned as it is."""
    if isinstance(name_or_likelihood, Likelihood):
        return name_or_likelihood
    if not isinstance(name_or_likelihood, str) or name_or_likelihood not in LIKELIHOODS:
        raise InvalidInput(
            f"{name_or_likelihood!r} is no likelihood; choose one of {', '.join(LIKELIHOODS)}."
        )
    return LIKELIHOODS[name_or_likelihood]
