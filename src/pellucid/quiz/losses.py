"""Questions about losses as negative log-likelihoods, in nats."""

from fractions import Fraction
from math import exp, lgamma, log, log1p, pi
from random import Random
from typing import Any

from .passes import decimal, vector
from .question import choice, kind, number, numbers

LOSSES = "losses"
QUARTERS = [Fraction(n, 4) for n in range(-8, 9)]


@kind(LOSSES)
def _gaussian(rng: Random) -> dict[str, Any]:
    """The Gaussian loss of a mean."""
    mu, y = rng.choice(QUARTERS), rng.choice(QUARTERS)
    found = log(2 * pi) / 2 + float(y - mu) ** 2 / 2
    return number(
        f"A network predicts the mean {decimal(mu)} of a Gaussian with standard deviation 1, and "
        f"the target is {decimal(y)}. What is the loss, the negative log-likelihood in nats?",
        found,
        f"log(2 pi)/2 + (y - mu)^2 / 2 = 0.918939 + {float(y - mu) ** 2 / 2:g} = {found:.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _gaussian_with_scale(rng: Random) -> dict[str, Any]:
    """The Gaussian loss of a mean and a standard deviation."""
    mu, y, sigma = rng.choice(QUARTERS), rng.choice(QUARTERS), rng.choice((0.5, 0.8, 2.0))
    found = log(2 * pi * sigma**2) / 2 + float(y - mu) ** 2 / (2 * sigma**2)
    return number(
        f"A network predicts a Gaussian with mean {decimal(mu)} and standard deviation {sigma:g}, "
        f"and the target is {decimal(y)}. What is the loss in nats?",
        found,
        f"log(2 pi s^2)/2 + (y - mu)^2 / (2 s^2) = {found:.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _bernoulli(rng: Random) -> dict[str, Any]:
    """The Bernoulli loss of a logit."""
    z, y = rng.choice([q for q in QUARTERS if q]), rng.randrange(2)
    v = -float(z) if y else float(z)
    found = max(v, 0) + log1p(exp(-abs(v)))
    return number(
        f"The logit of a yes-or-no target is {decimal(z)}, and the target is {y}. What is the loss "
        "in nats?",
        found,
        f"softplus(z) - y z = log(1 + e^{decimal(z)}) - {y} ({decimal(z)}) = {found:.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _categorical(rng: Random) -> dict[str, Any]:
    """The cross-entropy of three logits."""
    z, y = [rng.choice(QUARTERS) for _ in range(3)], rng.randrange(3)
    found = log(sum(exp(v) for v in z)) - float(z[y])
    return number(
        f"The logits are {vector(z)} and the target is class {y}. What is the cross-entropy in "
        "nats?",
        found,
        f"log(sum of e^z) - z[{y}] = {found + float(z[y]):.6f} - ({decimal(z[y])}) = {found:.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _softmax(rng: Random) -> dict[str, Any]:
    """The softmax of three logits."""
    z = [rng.choice(QUARTERS) for _ in range(3)]
    total = sum(exp(v) for v in z)
    p = [exp(v) / total for v in z]
    return numbers(
        f"The logits are {vector(z)}. What are the three probabilities?",
        p,
        f"e^z over its sum {total:.6f}: ({', '.join(f'{v:.6f}' for v in p)}).",
        decimals=3,
    )


@kind(LOSSES)
def _laplace(rng: Random) -> dict[str, Any]:
    """The Laplace loss."""
    mu, y, b = rng.choice(QUARTERS), rng.choice(QUARTERS), rng.choice((0.5, 1.0, 2.0))
    found = log(2) + log(b) + abs(float(y - mu)) / b
    return number(
        f"A network predicts a Laplace distribution with location {decimal(mu)} and scale {b:g}, "
        f"and the target is {decimal(y)}. What is the loss in nats?",
        found,
        f"log 2 + log b + |y - mu| / b = {found:.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _poisson(rng: Random) -> dict[str, Any]:
    """The Poisson loss of a log rate."""
    eta, y = rng.choice([q for q in QUARTERS if abs(q) <= 1]), rng.randint(0, 4)
    found = exp(eta) - y * float(eta) + lgamma(y + 1)
    return number(
        f"A network predicts the log {decimal(eta)} of a Poisson rate, and the count is {y}. What "
        "is the loss in nats, with the term of the factorial?",
        found,
        f"e^eta - y eta + log(y!) = {found:.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _pinball(rng: Random) -> dict[str, Any]:
    """The quantile loss."""
    tau, q, y = (
        Fraction(rng.choice((1, 2, 5, 8, 9)), 10),
        rng.choice(QUARTERS),
        rng.choice(QUARTERS),
    )
    u = y - q
    found = max(tau * u, (tau - 1) * u)
    return number(
        f"A network predicts {decimal(q)} for the quantile {decimal(tau)}, and the target is "
        f"{decimal(y)}. What is the pinball loss?",
        found,
        f"max(tau u, (tau - 1) u) with u = y - q = {decimal(u)}: {decimal(found)}.",
    )


@kind(LOSSES)
def _uniform_guess(rng: Random) -> dict[str, Any]:
    """The loss of knowing nothing."""
    k = rng.choice((2, 3, 4, 5, 10, 100))
    return number(
        f"A classifier gives all {k} classes the same probability. What is its cross-entropy in "
        "nats?",
        log(k),
        f"log {k} = {log(k):.6f}.",
        decimals=3,
    )


@kind(LOSSES)
def _temperature(rng: Random) -> dict[str, Any]:
    """What a temperature changes."""
    t = rng.choice((0.5, 2, 3))
    return choice(
        rng,
        f"Logits are divided by the temperature {t:g} before the softmax. What stays the same?",
        "the predicted class",
        ["the probabilities", "the cross-entropy", "the confidence"],
        "Dividing by a number above 0 keeps the order of the logits, and so the largest one.",
    )


@kind(LOSSES)
def _likelihood_for(rng: Random) -> dict[str, Any]:
    """The likelihood that fits a target."""
    cases = {
        "the number of calls in an hour": "Poisson",
        "which of seven species a bird is": "categorical",
        "whether a loan is paid back": "Bernoulli",
        "a temperature with symmetric noise and no outliers": "Gaussian",
        "a price whose errors have heavy tails": "Student t",
    }
    target = rng.choice(list(cases))
    right = cases[target]
    return choice(
        rng,
        f"A network is to predict {target}. Which likelihood fits best?",
        right,
        rng.sample([name for name in cases.values() if name != right], 3),
        "The loss is the negative log-likelihood of the target's distribution: counts, labels, "
        f"yes or no, and real numbers have their own. Here: {right}.",
    )


KINDS = (
    *(_gaussian, _gaussian_with_scale, _bernoulli, _categorical, _softmax, _laplace, _poisson),
    *(_pinball, _uniform_guess, _temperature, _likelihood_for),
)
