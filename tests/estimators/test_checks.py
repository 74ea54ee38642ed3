"""scikit-learn's own checks of an estimator, all of them."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pellucid import FeedforwardClassifier, FeedforwardRegressor

# Repeating a row and doubling its weight give other minibatches: so in scikit-learn's own MLP with
# its default solver, too.
STOCHASTIC = "check_sample_weight_equivalence_on_dense_data"
EXPECTED = {STOCHASTIC: "minibatches of repeated rows differ from those of weighted rows"}

pytestmark = [pytest.mark.usefixtures("as_users_run")]


@parametrize_with_checks(
    [FeedforwardClassifier(), FeedforwardRegressor()], expected_failed_checks=lambda _: EXPECTED
)
@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_expected_failures_are_those_of_scikit_learns_mlp():
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.utils import estimator_checks

    for mlp in (MLPClassifier(max_iter=20), MLPRegressor(max_iter=20)):
        with warnings.catch_warnings(action="ignore"), pytest.raises(AssertionError):
            getattr(estimator_checks, STOCHASTIC)(type(mlp).__name__, mlp)
