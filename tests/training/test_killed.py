"""Trainings that are killed with SIGKILL at random moments end in the bits of undisturbed ones."""

import random

import pytest
from training.killing import WORKS, Trainer


def check(work: str, kills: int, seed: int, tmp_path) -> None:
    """Kill until `kills` calls ended early, in one folder after the other."""
    rng = random.Random(seed)
    with Trainer() as trainer:
        expected = trainer.run(work, None, None)
        killed = went_on = folders = 0
        while killed < kills or went_on < kills / 3:
            assert folders < 40  # else nothing is ever gone on from
            folder = tmp_path / str(folders)
            folders += 1
            digest, longest = None, 0.15
            while digest is None:
                went_on += any(folder.glob("*.safetensors"))
                digest = trainer.run(work, folder, rng.uniform(0.005, longest))
                longest *= 1.2  # a busy machine gets there too
                killed += digest is None
            assert digest == expected
            assert trainer.run(work, folder, None) == expected
            left = {path.name for path in folder.iterdir()}
            assert left == {"finished-000001.safetensors", "lock", "study.json"}


@pytest.mark.parametrize("work", WORKS)
def test_a_killed_training_goes_on_to_the_same_bits(work, tmp_path):
    check(work, 6, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS)
def test_many_kills_change_no_bit(work, tmp_path):
    check(work, 12, 1, tmp_path)
