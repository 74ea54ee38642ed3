"""scikit-learn's own checks of an estimator, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pellucid import FeedforwardClassifier, FeedforwardRegressor

pytestmark = [pytest.mark.usefixtures("as_users_run")]


@parametrize_with_checks([FeedforwardClassifier(), FeedforwardRegressor()])
@pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)
