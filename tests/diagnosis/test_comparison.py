"""Two recipes on the same seeds and rows: the pairing, the interval, the sentence."""

import inspect
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid import Recipe
from pellucid._errors import InvalidInput
from pellucid.datasets import load_dataset
from pellucid.diagnosis import comparison
from pellucid.diagnosis.comparison import interval
from pellucid.diagnosis.recipe_options import as_recipe

MOONS = load_dataset("moons", n=120)


def test_a_wider_network_is_better_on_moons():
    c = pellucid.compare("hidden=1,steps=300", "hidden=16,steps=300", MOONS, seeds=4, threads=1)
    assert c.better == "B"
    assert 0 < c.low < c.difference < c.high
    assert c.difference == pytest.approx(np.mean(c.held_out_loss_a - c.held_out_loss_b))
    assert c.sentence.startswith("B is better by ")
    assert "on the same 4 seeds and 30 held-out rows" in c.sentence
    assert c.change == "hidden widths 16 instead of 1"
    assert "B is better" in repr(c)


def test_swapping_the_recipes_swaps_the_answer():
    a, b = "hidden=1,steps=300", "hidden=16,steps=300"
    c, d = (pellucid.compare(*p, MOONS, seeds=4, threads=1) for p in ((a, b), (b, a)))
    assert c.difference == pytest.approx(-d.difference)
    assert c.low == pytest.approx(-d.high, abs=0.02)
    assert (c.better, d.better) == ("B", "A")
    assert d.sentence.startswith("A is better by ")


def test_recipes_that_do_the_same_show_no_difference():
    b = "hidden=4,steps=100,batch_size=90"  # all training rows
    c = pellucid.compare("hidden=4,steps=100", b, MOONS, seeds=3, threads=1)
    assert c.better is None
    assert c.sentence.startswith("No difference was shown")


def test_the_same_seeds_start_both_recipes_and_the_numbers_are_repeatable():
    def run(threads):
        return pellucid.compare(
            "steps=50", "steps=60", MOONS, seeds=(7, 3, 11), seed=5, threads=threads
        )

    c = run(1)
    assert c.seeds == (7, 3, 11)
    assert c.to_dict() == run(2).to_dict()
    from pellucid.diagnosis.problem import outputs, pose
    from pellucid.training import train

    p = pose(MOONS, Recipe((16,)), 5, 0.25)
    rows = ~p.held_out
    net = train([2, 16, 2], p.raw_X[rows], p.y[rows], steps=60, seed=11).network
    unseen = np.flatnonzero(p.held_out)
    loss = p.losses(outputs(net.astype("float64"), p.raw_X[unseen]), unseen).mean()
    assert c.held_out_loss_b[2] == pytest.approx(loss, rel=1e-9)


def test_runs_that_diverge_are_told():
    sine = load_dataset("sine", n=80)
    wild = {"hidden": (8,), "optimizer": "sgd", "learning_rate": 1e4, "steps": 100}
    c = pellucid.compare(wild, {"hidden": (8,), "steps": 100}, sine, seeds=3, threads=1)
    assert c.n_diverged_a == 3
    assert "A diverged from 3 of them, B from 0" in c.sentence


def test_losses_that_are_not_finite_claim_nothing():
    c = pellucid.compare("steps=20", "steps=30", MOONS, seeds=3, threads=1)
    lost = replace(c, difference=np.nan, low=np.nan, high=np.nan)
    assert lost.better is None
    assert "not finite" in lost.sentence
    assert json.loads(json.dumps(lost.to_dict(), allow_nan=False))["difference"] is None


def test_groups_are_drawn_whole():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(8), 25)
    paired = np.tile(rng.normal(size=8)[group], (5, 1)) + 0.01 * rng.normal(size=(5, 200))
    _, low, high = interval(paired)
    _, low_g, high_g = interval(paired, group)
    assert high_g - low_g > 2 * (high - low)


def test_frame_and_dict_hold_every_run():
    c = pellucid.compare("steps=20", "steps=30", MOONS, seeds=3, threads=1)
    frame = c.to_frame()
    assert frame.height == 6
    assert frame["held_out_loss"].to_list()[:3] == c.held_out_loss_a.tolist()
    record = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert record["schema"] == 1
    assert record["a"]["steps"] == 20
    assert len(record["score_b"]) == 3


@pytest.mark.parametrize("n_seeds", [3, 10])
def test_the_interval_holds_the_truth_in_95_of_100_experiments_or_more(n_seeds):
    """Differences with an effect of the seed, of the row, and of both; the mean is 0.3."""
    rng = np.random.default_rng(n_seeds)
    held = 0
    for i in range(150):
        seeds, rows = 0.3 * rng.normal(size=(n_seeds, 1)), rng.normal(size=(1, 40))
        paired = 0.3 + seeds + rows + rng.normal(size=(n_seeds, 40))
        _, low, high = interval(paired, seed=i)
        held += low <= 0.3 <= high
    assert held >= 0.93 * 150


def test_an_interval_is_no_wider_than_it_has_to_be():
    rng = np.random.default_rng(0)
    paired = 1.0 + rng.normal(size=(10, 400))
    mean, low, high = interval(paired)
    assert low < mean < high
    assert high - low < 0.25


@pytest.mark.parametrize(
    ("what", "recipe"),
    [
        ("", Recipe((16,))),
        ("hidden=8,8,learning-rate=.1", Recipe((8, 8), learning_rate=0.1)),
        ("hidden=none, standardize", Recipe((), standardize=True)),
        ("standardize=no,steps=7,batch_size=none", Recipe((16,), steps=7)),
        ("activation=leaky_relu(0.1),batch_size=4", Recipe((16,), "leaky_relu(0.1)", batch_size=4)),
        ("optimizer=sgd,schedule=cosine", Recipe((16,), optimizer="sgd", schedule="cosine")),
        ({"hidden": [3], "weight_decay": 1}, Recipe((3,), weight_decay=1.0)),
        ({"hidden": np.array([3]), "steps": np.int64(5)}, Recipe((3,), steps=5)),
        (Recipe((3,), learning_rate=0.5), Recipe((3,), learning_rate=0.5)),
    ],
)
def test_recipes_are_read_from_options(what, recipe):
    assert as_recipe(what) == recipe


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("hiden=8", "A has no option 'hiden'; did you mean 'hidden'?"),
        ("steps=many", "steps of A is 'many'; it needs a whole number"),
        ("steps=1.5", "it needs a whole number"),
        ("learning_rate=fast", "learning_rate of A is 'fast'; it needs a number"),
        ("hidden=8,x", "hidden of A is '8,x'; it needs whole numbers"),
        ("16", "A holds '16', which is no option"),
        ("steps=3,steps=4", "A names steps twice"),
        ("standardize=maybe", "it needs yes or no"),
        ("optimizer=sdg", "optimizer is 'sdg'; choose one of"),
        ({"hidden": 8}, "hidden of A is 8; it needs a list of widths"),
        ("activation=elu(x)", "its parameters need to be numbers"),
    ],
)
def test_a_mistake_in_a_recipe_is_one_sentence(what, says):
    with pytest.raises(InvalidInput) as caught:
        as_recipe(what, "A")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InvalidInput, match="the same recipe"):
        pellucid.compare("hidden=16", {}, MOONS)
    with pytest.raises(InvalidInput, match="at least 3 different seeds"):
        pellucid.compare("hidden=1", "hidden=2", MOONS, seeds=2)
    with pytest.raises(InvalidInput, match="at least 3 different seeds"):
        pellucid.compare("hidden=1", "hidden=2", MOONS, seeds=(1, 1, 2))
    with pytest.raises(InvalidInput, match="seed is -1"):
        pellucid.compare("hidden=1", "hidden=2", MOONS, seed=-1)
    with pytest.raises(InvalidInput, match="leave y out"):
        pellucid.compare("hidden=1", "hidden=2", MOONS, MOONS.y)


def test_groups_and_time_split_the_rows():
    sites = np.arange(120) % 6
    seen = []
    c = pellucid.compare(
        "steps=20",
        "steps=30",
        MOONS,
        seeds=3,
        groups=sites,
        threads=1,
        progress=lambda name, done: seen.append(name),
    )
    assert any("groups" in note for note in c.notes)
    assert set(seen) == {"A", "B"}


def test_seeds_may_be_an_array_and_a_fraction_is_refused():
    seeds: Any = np.arange(3)
    a, b = {"hidden": [4], "steps": 20}, {"hidden": [4], "steps": 30}
    assert pellucid.compare(a, b, load_dataset("iris"), seeds=seeds).seeds == (0, 1, 2)
    with pytest.raises(InvalidInput, match="at least 3 different seeds"):
        inspect.unwrap(comparison._seeds)(1.5, 0)
