"""Files that earlier versions wrote, kept in tests/data: they are read for ever."""

from pathlib import Path

import numpy as np
import pandas as pd

from pellucid.estimators import load_estimator

DATA = Path(__file__).parents[1] / "data"


def test_a_file_of_version_1_gives_what_it_gave():
    """The seed and the predictions are those of the day on which the file was written."""
    model = load_estimator(DATA / "estimator_version_1.pellucid")
    rows = pd.DataFrame({"colour": ["red", "violet", None], "size": [0.5, None, -2.0]})
    expected = [[0.053092, 0.946908], [0.594192, 0.405808], [0.975287, 0.024713]]
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-6)
    assert model.predict(rows).tolist() == ["yes", "no", "no"]
