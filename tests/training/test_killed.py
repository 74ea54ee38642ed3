"""Trainings that are killed with SIGKILL at random moments end in the bits of undisturbed ones."""

import random
import time

import pytest
from training.killing import WORKS, Trainer


def check(work: str, kills: int, seed: int, tmp_path) -> None:
    """Kill until `kills` calls ended early, in one folder after the other.

    Most are killed after they have saved something, so that each folder comes to its end. They
    have a part of the time that the whole work takes here and now, and less whenever one of them
    came to its end before: no speed of the machine can let all of them end.
    """
    rng = random.Random(seed)
    with Trainer() as trainer:
        expected = trainer.run(work, None)
        begun = time.monotonic()
        assert trainer.run(work, None) == expected
        longest = (time.monotonic() - begun) / 4
        killed = went_on = folders = 0
        while killed < kills or went_on < kills / 3:
            assert folders < 20 * kills
            folder = tmp_path / str(folders)
            folders += 1
            digest = None
            while digest is None:
                went_on += any(folder.glob("*.safetensors"))
                after_saving = rng.random() < 2 / 3
                digest = trainer.run(work, folder, rng.uniform(0, longest), after_saving)
                killed += digest is None
            longest *= 0.8
            assert digest == expected
            assert trainer.run(work, folder) == expected
            left = {path.name for path in folder.iterdir()}
            assert left == {".pellucid-lock", "finished-000001.safetensors", "study.json"}


@pytest.mark.parametrize("work", WORKS)
def test_a_killed_training_goes_on_to_the_same_bits(work, tmp_path):
    check(work, 6, 0, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("work", WORKS)
def test_many_kills_change_no_bit(work, tmp_path):
    check(work, 60, 1, tmp_path)
