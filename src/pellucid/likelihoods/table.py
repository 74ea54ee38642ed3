"""The likelihoods by name."""

import re
from collections.abc import Iterable
from typing import SupportsFloat

from .._errors import InvalidInput
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

LIKELIHOODS: dict[str, Likelihood] = {
    member.name: member
    for member in (
        Gaussian(),
        Bernoulli(),
        Categorical(),
        MeanVariance(),
        Laplace(),
        StudentT(),
        Poisson(),
        NegativeBinomial(),
        Ordinal(),
        Quantile(),
        Mixture(),
    )
}
"""Every likelihood under its name, with its usual parameters."""

_WITH_PARAMETERS = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*", re.ASCII)


def as_likelihood(
    name_or_likelihood: str | Likelihood, parameters: Iterable[SupportsFloat] = ()
) -> Likelihood:
    """The likelihood of that name; a `Likelihood` is returned as it is.

    Parameters stand in the text, as in "quantile(0.05,0.95)", or beside it; those that are left out
    take their usual values.
    """
    if isinstance(name_or_likelihood, Likelihood):
        return name_or_likelihood
    name, values = _parsed(name_or_likelihood)
    if name not in LIKELIHOODS:
        raise InvalidInput(
            f"{name_or_likelihood!r:.80} is no likelihood; choose one of {', '.join(LIKELIHOODS)}."
        )
    values = [*values, *parameters]
    return LIKELIHOODS[name].with_parameters(values) if values else LIKELIHOODS[name]


def _parsed(text: object) -> tuple[str, list[float]]:
    """The name and the parameters in a text; the whole text where it holds none."""
    if not isinstance(text, str):
        return "", []
    found = _WITH_PARAMETERS.fullmatch(text)
    if found is None:
        return text, []
    try:
        return found[1], [float(word) for word in found[2].split(",") if found[2].strip()]
    except ValueError:
        raise InvalidInput(
            f"{text!r:.80} is no likelihood with parameters; they are numbers with commas between "
            "them, as in student_t(4) or quantile(0.1,0.9)."
        ) from None
