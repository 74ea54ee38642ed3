"""The figure of a comparison joins the runs of each seed."""

from dataclasses import replace

import numpy as np
import pytest

import pellucid
from pellucid import plot
from pellucid.datasets import load_dataset


@pytest.fixture(scope="module")
def comparison():
    moons = load_dataset("moons", n=80)
    return pellucid.compare("hidden=1,steps=50", "hidden=4,steps=50", moons, seeds=3, threads=1)


def test_a_line_joins_the_two_runs_of_each_seed(comparison):
    ax = plot.comparison(comparison).axes[0]
    joined = [line.get_ydata() for line in ax.lines if list(line.get_xdata()) == [0, 1]]
    assert np.array_equal(
        joined, np.stack([comparison.held_out_loss_a, comparison.held_out_loss_b], axis=1)
    )
    assert [t.get_text() for t in ax.get_xticklabels()] == ["A", "B"]
    assert "hidden widths 4 instead of 1" in ax.get_xlabel()
    assert "95 % interval" in ax.get_xlabel()


def test_a_loss_that_is_not_finite_has_no_dot(comparison):
    lost = np.array([np.inf, *comparison.held_out_loss_a[1:]])
    broken = replace(comparison, held_out_loss_a=lost, difference=np.nan)
    figure = plot.comparison(broken)
    assert "not finite" in figure.axes[0].get_xlabel()
    assert plot.to_svg(figure, "two recipes")
