"""Checkpoints: whatever ends a training, the same call goes on to the same bits."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training import killing

import pellucid
from pellucid import InvalidFile, InvalidInput, PellucidWarning
from pellucid._kernels import binding
from pellucid._kernels.jobs import LayerRecords, TrainingJob, TrainingResult, TrainingState
from pellucid.training import checkpoint_bytes, checkpoint_files, checkpoints
from pellucid.training.checkpoint_files import clear, locked, opened
from pellucid.training.checkpoints import Checkpoint, train_with_checkpoints

DATA = pellucid.datasets.spirals(60, seed=0)
GRID = {"hidden": [[4], [3, 3]], "seed": range(3), "steps": 20, "record_every": 5}


@pytest.fixture(autouse=True)
def checkpoints_as_often_as_asked_for(monkeypatch):
    monkeypatch.setattr(binding, "INTERVAL", 0.002)
    monkeypatch.setattr(checkpoints, "LARGEST_SHARE", float("inf"))


def train_many(folder=None, **changes):
    return pellucid.train_many(DATA.X, DATA.y, **(GRID | changes), checkpoint=folder)


def same(a, b) -> bool:
    return killing.digest(a) == killing.digest(b)


# ---- an engine that pauses at any step, to test the rounds without a compiler


def job(steps: int, seed: int = 0, hidden: int = 4) -> TrainingJob:
    widths = (2, hidden, 2)
    parameters = np.zeros(hidden * 5 + 2, np.float32)
    activations = (("relu", ()),)
    return TrainingJob(
        widths, parameters, activations, "categorical", "sgd", 0.1, steps=steps, seed=seed
    )


class Engine:
    """Counts; tells the steps of all jobs together after every step."""

    def __init__(self):
        self.calls = []

    def __call__(self, jobs, progress):
        self.calls.append([(j.seed, j.state.steps_done if j.state else 0) for j in jobs])
        done, total = sum(first for _, first in self.calls[-1]), sum(j.steps for j in jobs)
        results, stopped = [], False
        for one in jobs:
            step = one.state.steps_done if one.state else 0
            value = one.state.arrays["value"].copy() if one.state else np.array([one.seed], "u8")
            began = bool(one.state)
            while step < one.steps and not stopped:
                value = value * np.uint64(6364136223846793005) + np.uint64(step)
                step, done, began = step + 1, done + 1, True
                try:
                    progress(done, total)
                except KeyboardInterrupt:
                    stopped = True
            over = step == one.steps
            state = TrainingState("test", step, {"value": value}) if began and not over else None
            results.append(
                result_of(one, step, value, "finished" if over else "interrupted", state)
            )
        return results


def result_of(one, step, value, status, state=None) -> TrainingResult:
    parameters = np.full(len(one.parameters), int(value[0] % 9973), np.float32)
    return TrainingResult(
        parameters, np.array([0, step]), np.array([1.0, np.nan]), np.empty(0), status, step,
        state=state,
    )  # fmt: skip


def run(jobs, folder, engine=None, every=0.0, report=None):
    known = {"networks": str(len(jobs))}
    return train_with_checkpoints(
        jobs, engine or Engine(), Checkpoint(folder, every), known, 60, report
    )


def alike(a: TrainingResult, b: TrainingResult) -> bool:
    arrays = ("parameters", "steps", "losses", "validation_losses")
    return (a.status, a.steps_done, a.best_step) == (b.status, b.steps_done, b.best_step) and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in arrays
    )


def test_pauses_change_nothing_and_every_round_goes_on_where_the_last_one_was(tmp_path):
    jobs = [job(5, seed=s) for s in range(4)]
    engine = Engine()
    results = run(jobs, tmp_path, engine)
    assert len(engine.calls) > 4
    assert any(first for call in engine.calls for _, first in call)
    plain = Engine()(jobs, lambda done, total: None)
    assert all(alike(a, b) for a, b in zip(results, plain, strict=True))


def test_the_largest_networks_are_begun_first_and_results_keep_their_order(tmp_path):
    jobs = [job(3, seed=0, hidden=2), job(3, seed=1, hidden=9), job(9, seed=2, hidden=9)]
    engine = Engine()
    results = run(jobs, tmp_path, engine, every=100)
    assert [seed for seed, _ in engine.calls[0]] == [2, 1, 0]
    assert [len(r.parameters) for r in results] == [len(j.parameters) for j in jobs]


def test_a_call_of_the_engine_is_bounded_and_grows_only_where_it_is_done_in_time(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(checkpoints, "FIRST_WINDOW", 2)
    engine = Engine()
    run([job(1, seed=s) for s in range(14)], tmp_path, engine, every=100)
    assert [len(call) for call in engine.calls] == [2, 4, 8]


def test_the_share_grows_where_all_of_it_is_begun_before_the_next_checkpoint(tmp_path, monkeypatch):
    """As on a cluster with more processors than the first share has networks."""
    monkeypatch.setattr(checkpoints, "FIRST_WINDOW", 2)
    sizes = []

    def many_processors(some, progress):
        sizes.append(len(some))
        with suppress(KeyboardInterrupt):
            for done in (0, len(some)):
                progress(done, 0)
        steps = [one.state.steps_done + 1 if one.state else 1 for one in some]
        over = [step == one.steps for step, one in zip(steps, some, strict=True)]
        states = [TrainingState("test", step, {"value": np.zeros(1)}) for step in steps]
        return [
            result_of(
                one, step, np.zeros(1), "finished" if end else "interrupted", None if end else state
            )
            for one, step, end, state in zip(some, steps, over, states, strict=True)
        ]

    run([job(3, seed=s) for s in range(14)], tmp_path, many_processors)
    assert sizes[:3] == [2, 4, 8]


def test_progress_counts_what_earlier_calls_have_done(tmp_path):
    heard = []
    jobs = [job(5, seed=s) for s in range(3)]

    def report(done, total):
        heard.append((done, total))
        if done == 7:
            raise KeyboardInterrupt

    with pytest.warns(PellucidWarning, match="1 of 3 networks are done"):
        first = run(jobs, tmp_path, report=report)
    assert [r.status for r in first] == ["finished", "interrupted", "interrupted"]
    assert [r.steps_done for r in first] == [5, 2, 0]
    run(jobs, tmp_path, report=lambda *at: heard.append(at))
    assert heard == [(k, 15) for k in range(1, 16)]


def test_a_slow_start_of_the_engine_makes_the_rounds_longer(tmp_path, monkeypatch):
    """As where rows are sent to a cluster in every round: starting counts like saving."""
    clock = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoints, "LARGEST_SHARE", 1 / 16)
    monkeypatch.setattr(checkpoints, "FIRST_REPORT", 1 / 8)
    engine = Engine()

    def slow(some, progress):
        def step(done, total):
            clock[0] += 1 / 64
            progress(done, total)

        clock[0] += 1 + 1 / 8 - 1 / 64  # seconds
        return engine(some, step)

    run([job(2500)], tmp_path, slow)
    assert [steps for [[_, steps]] in engine.calls] == [0, 1025, 2050]  # rounds of 16 s


def test_a_second_ctrl_c_does_not_wait():
    with checkpoints._CtrlC() as ctrl_c:
        signal.raise_signal(signal.SIGINT)
        assert ctrl_c.seen
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_users_interrupt_is_told_from_a_pause(tmp_path):
    """An engine that is interrupted without being asked: Ctrl-C where a signal handler saw it."""
    jobs = [job(5, seed=s) for s in range(3)]

    def interrupted(some, progress):
        return [result_of(j, 0, np.zeros(1), "interrupted") for j in some]

    with pytest.warns(PellucidWarning, match="the same call goes on from there"):
        results = run(jobs, tmp_path, interrupted)
    assert [r.status for r in results] == ["interrupted"] * 3


def test_what_a_report_raises_comes_out_and_the_checkpoint_stays(tmp_path):
    def report(done, total):
        if done == 8:
            raise RuntimeError("of the user")

    jobs = [job(5, seed=s) for s in range(3)]
    with pytest.raises(RuntimeError, match="of the user"):
        run(jobs, tmp_path, report=report)
    engine = Engine()
    run(jobs, tmp_path, engine)
    assert sum(len(call) for call in engine.calls[:1]) == 2  # the first one is done


# ---- what is on the disk

LAYERS = LayerRecords(
    np.arange(3), np.ones((3, 2)), np.full((3, 2), np.nan), np.zeros((3, 1)), np.zeros((3, 1))
)


def odd_results(jobs):
    """Results with all that one can have: nan, infinities, empty arrays, other types, layers."""
    rng = np.random.default_rng(0)
    finished, running = {}, {}
    for i, one in enumerate(jobs):
        result = result_of(one, i, np.array([i], "u8"), "finished")
        noise = rng.integers(0, 2**32, len(one.parameters), dtype=np.uint32).view(np.float32)
        result = replace(result, parameters=noise, layers=LAYERS if i % 2 else None)
        finished[i] = replace(result, best_step=0 if i % 3 else None, status="stopped early")
    state = TrainingState(
        "kernel",
        3,
        {"order": np.arange(60, dtype=np.int32), "empty": np.empty((0, 3)), "bit": np.array(True)},
    )
    for i in (0, 2):
        running[i] = replace(finished.pop(i), status="interrupted", state=state)
    return finished, running


def test_results_and_states_come_back_bit_for_bit(tmp_path):
    jobs = [job(9, seed=s) for s in range(6)]
    finished, running = odd_results(jobs)
    with opened(tmp_path, {"a": "b"}, jobs) as folder:
        folder.begin()
        folder.save(finished, running)
    with opened(tmp_path, {"a": "b"}, jobs) as folder:
        assert folder.finished.keys() == finished.keys()
        assert folder.running.keys() == running.keys()
        for i, result in finished.items():
            assert alike(folder.finished[i], result)
            assert (folder.finished[i].layers is None) == (result.layers is None)
        kept = folder.finished[1].layers
        assert kept.update_ratio.tobytes() == LAYERS.update_ratio.tobytes()
        assert kept.update_ratio.shape == LAYERS.update_ratio.shape
        for i, result in running.items():
            assert alike(folder.running[i], result)
            arrays, expected = folder.running[i].state.arrays, result.state.arrays
            assert list(arrays) == list(expected)
            for name, array in arrays.items():
                assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape)
                assert array.tobytes() == expected[name].tobytes()
                assert array.flags.writeable


def test_many_networks_make_few_files(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_files, "PART_BYTES", 8_000)
    jobs = [job(2, seed=s) for s in range(120)]
    written = []
    write = checkpoint_files.write_atomically
    monkeypatch.setattr(
        checkpoint_files, "write_atomically", lambda p, d: (written.append(len(d)), write(p, d))
    )
    run(jobs, tmp_path)
    parts = list(tmp_path.glob("finished-*"))
    assert 2 < len(parts) < 12
    assert max(written) < 9_000
    plain = Engine()(jobs, lambda done, total: None)
    assert all(alike(a, b) for a, b in zip(run(jobs, tmp_path), plain, strict=True))


def damaged(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 2:
        return data + bytes(rng.randrange(1, 9))
    return data[:at] + rng.randbytes(min(8, len(data) - at)) + data[at + 8 :]


@pytest.mark.parametrize("name", ["finished-000001.safetensors", "running.safetensors"])
def test_changed_bytes_are_refused_with_one_sentence(name, tmp_path):
    jobs = [job(9, seed=s) for s in range(6)]
    with opened(tmp_path, {}, jobs) as folder:
        folder.begin()
        folder.save(*odd_results(jobs))
    file = tmp_path / name
    good, rng = file.read_bytes(), random.Random(1)
    for _ in range(150):
        bad = damaged(good, rng)
        file.write_bytes(bad)
        if bad == good:
            continue
        with pytest.raises(InvalidFile, match=r"^[^\n]+$"), opened(tmp_path, {}, jobs):
            pass
    file.unlink()
    with opened(tmp_path, {}, jobs) as folder:  # as the sentence says
        assert len(folder.finished) + len(folder.running) < 6


def packed(described, **arrays) -> bytes:
    """A file with a true checksum and a description (text: as JSON) that nobody would write."""
    from safetensors.numpy import save

    about = described if isinstance(described, str) else json.dumps(described)
    header = {"format": checkpoint_bytes.FORMAT, "version": checkpoint_bytes.VERSION}
    header |= {"study": STUDY_ID, "results": about}
    return save(arrays, header | {"sha256": checkpoint_bytes._digest(about, arrays)})


STUDY_ID = checkpoint_files._id({})
GOOD = {
    "TrainingResult": {
        "parameters": {"array": ["float32", 22]},
        "steps": {"array": ["int64", 1]},
        "losses": {"array": ["float64", 1]},
        "validation_losses": {"array": ["float64", 0]},
        "status": "finished",
        "steps_done": 1,
    }
}


def good_but(**changes):
    return [[0, {"TrainingResult": GOOD["TrainingResult"] | changes}]]


HOSTILE = {
    "no list": 5,
    "no pairs": [5],
    "another number": [[7, GOOD]],
    "number before the first": [[-1, GOOD]],
    "number as text": [["0", GOOD]],
    "a list as number": [[[0], GOOD]],
    "truth as number": [[False, GOOD]],
    "another class": [[0, {"os.system": {"command": "true"}}]],
    "a class inside": good_but(status={"TrainingState": {"engine": "", "steps_done": 0}}),
    "negative length": good_but(losses={"array": ["float64", -1]}),
    "endless length": good_but(losses={"array": ["float64", 2**62]}),
    "half a length": good_but(losses={"array": ["float64", 0.5]}),
    "many axes": good_but(losses={"array": ["float64", *[1] * 100]}),
    "another type": good_but(losses={"array": ["object", 1]}),
    "other parameters": good_but(parameters={"array": ["float32", 2, 11]}),
    "a status that steers a terminal": good_but(status="\x1b[2J"),
    "a paused one among the finished": good_but(status="interrupted"),
    "steps beyond the last": good_but(steps_done=10**9),
    "a best step that was not": good_but(best_step=3),
    "a field too many": good_but(more=1),
    "layers as text": good_but(layers="x"),
    "layers of another shape": good_but(
        layers={
            "LayerRecords": {"steps": {"array": ["int64", 0]}}
            | {
                name: {"array": ["float64", 0, 9]}
                for name in ("gradient_norm", "update_ratio", "dead", "saturated")
            }
        }
    ),
    "two kinds": [[0, {"TrainingResult": {}, "dict": {}}]],
    "a list": [[0, []]],
    "a number": [[0, 0]],
    "deep": '[[0, {"dict": ' + '{"a": ' * 10**5 + "0" + "}" * 10**5 + "}]]",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_descriptions_are_refused_with_one_sentence(name, tmp_path, as_users_run):
    jobs = [job(9)]
    arrays = {"float32": np.zeros(22, "f4"), "float64": np.zeros(1), "int64": np.zeros(1, "i8")}
    with opened(tmp_path, {}, jobs) as folder:
        folder.begin()
    part = tmp_path / "finished-000001.safetensors"
    part.write_bytes(packed([[0, GOOD]], **arrays))
    with opened(tmp_path, {}, jobs) as folder:
        assert len(folder.finished) == 1
    part.write_bytes(packed(HOSTILE[name], **arrays))
    refused = pytest.raises(InvalidFile, match=r"is damaged \([^\n]+\); remove this file")
    with refused, opened(tmp_path, {}, jobs):
        pass


def test_a_state_that_is_no_state_is_refused(tmp_path, as_users_run):
    jobs = [job(9)]
    with opened(tmp_path, {}, jobs) as folder:
        folder.begin()
    arrays = {"float32": np.zeros(22, "f4"), "float64": np.zeros(1), "int64": np.zeros(1, "i8")}
    for state in (None, 5, {"dict": {}}, {"TrainingState": {"engine": 1}}):
        described = good_but(status="interrupted", state=state)
        (tmp_path / "running.safetensors").write_bytes(packed(described, **arrays))
        with pytest.raises(InvalidFile, match="damaged"), opened(tmp_path, {}, jobs):
            pass


# ---- whose folder it is


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"learning_rate": 0.5}, "'learning_rate' differs"),
        ({"steps": 21, "beta1": 0.5}, "'beta1', 'steps' differ"),
        ({"seed": range(1, 4)}, "'seed', 'starting parameters' differ"),
        ({"seed": range(4)}, "the number of networks (there: 6; here: 8) differs"),
        ({"engine": "reference"}, "the engine (there: auto, "),
        ({"sample_weight": np.ones(60)}, "'sample_weight' differs"),
        ({"validation": (DATA.X, DATA.y)}, "'X_validation', 'y_validation' differ"),
        ({"scheme": "he_normal"}, "'starting parameters' differs"),
    ],
)
def test_a_folder_of_other_work_is_refused_and_stays(changes, named, tmp_path):
    train_many(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(InvalidFile) as error:
        train_many(tmp_path, **changes)
    assert named in str(error.value)
    assert "name another folder" in str(error.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_other_rows_are_other_work(tmp_path):
    train_many(tmp_path)
    with pytest.raises(InvalidFile, match=r"'y' differs"):
        pellucid.train_many(DATA.X, 1 - DATA.y, **GRID, checkpoint=tmp_path)


def test_another_instruction_set_or_version_is_other_work(tmp_path, monkeypatch):
    train_many(tmp_path)
    monkeypatch.setattr(checkpoints, "version", lambda name: "99.0")
    with pytest.raises(InvalidFile, match=r"version of Pellucid \(there: .*; here: 99.0\)"):
        train_many(tmp_path)
    monkeypatch.undo()
    if pellucid._kernels.native_module() is None:
        return
    monkeypatch.setenv("PELLUCID_ISA", "baseline")
    with pytest.raises(InvalidFile, match=r"the engine \(there: auto, .*; here: auto, baseline\)"):
        train_many(tmp_path)


def test_a_folder_with_anything_else_in_it_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InvalidFile, match=r"not empty \(it holds 'letter.txt'\)"):
        train_many(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]
    (tmp_path / "letter.txt").unlink()
    (tmp_path / "study.json").write_text('{"format": "of another"}')
    with pytest.raises(InvalidFile, match="of another program"):
        train_many(tmp_path)


def test_a_process_killed_before_it_wrote_anything_leaves_a_folder_to_begin_in(tmp_path):
    (tmp_path / ".pellucid-lock").write_text("process 1 on nowhere")
    (tmp_path / ".pellucid-0123abcd.tmp").write_bytes(b"half a file")
    train_many(tmp_path)
    assert not list(tmp_path.glob(".pellucid-*.tmp"))


def test_a_file_under_the_name_of_the_lock_keeps_its_content(tmp_path):
    (tmp_path / ".pellucid-lock").write_text("process of making bread")
    train_many(tmp_path)
    assert (tmp_path / ".pellucid-lock").read_text() == "process of making bread"


def test_clear_leaves_another_folder_alone(tmp_path):
    (tmp_path / "study.json").write_text('{"format": "of another"}')
    with pytest.raises(InvalidFile, match="of another program"):
        clear(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["study.json"]
    clear(Path("n" * 300))


def test_clear_removes_its_own_files_and_nothing_else(tmp_path):
    train_many(tmp_path)
    (tmp_path / "letter.txt").write_text("mine")
    clear(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".pellucid-lock", "letter.txt"]
    clear(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_second_user_of_the_folder_is_refused_until_the_first_is_gone(tmp_path):
    with locked(tmp_path), pytest.raises(InvalidFile, match=f"in use by process {os.getpid()} on"):
        train_many(tmp_path)
    seen = []

    def elsewhere():
        try:
            train_many(tmp_path)
        except InvalidFile as error:
            seen.append(str(error))

    with locked(tmp_path):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert "in use" in seen[0]
    train_many(tmp_path)


def test_the_lock_of_a_killed_process_is_none(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from pellucid.training.checkpoint_files import locked\n"
        "with locked(Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(InvalidFile, match=f"in use by process {holder.pid} on"):
        train_many(tmp_path)
    holder.kill()
    holder.communicate()
    assert f"process {holder.pid}" in (tmp_path / ".pellucid-lock").read_text()
    train_many(tmp_path)


# ---- what users do


def test_a_finished_training_is_read_from_disk_and_nothing_is_written(tmp_path, monkeypatch):
    plain, first = train_many(), train_many(tmp_path)
    assert same(plain, first)

    def never(*_, **__):
        raise AssertionError("nothing is left to do")

    monkeypatch.setattr(pellucid._kernels, "train_networks", never)
    monkeypatch.setattr(checkpoint_files, "write_atomically", never)
    assert same(train_many(tmp_path), plain)
    assert same(train_many(str(tmp_path)), plain)
    opens = os.open
    monkeypatch.setattr(
        os, "open", lambda p, *a, **k: denied() if "lock" in str(p) else opens(p, *a, **k)
    )
    assert same(train_many(tmp_path), plain)  # on a file system that cannot be written


def denied():
    raise PermissionError(13, "Permission denied")


def test_train_saves_one_network_and_goes_on_from_it(tmp_path):
    start = pellucid.initialize([2, 4, 2], seed=3)
    plain = pellucid.train(start, DATA.X, DATA.y, steps=30)
    for _ in range(2):
        kept = pellucid.train(start, DATA.X, DATA.y, steps=30, checkpoint=tmp_path / "a" / "b")
        assert same([kept], [plain])
    other = pellucid.initialize([2, 4, 2], seed=4)
    with pytest.raises(InvalidFile, match="'starting parameters' differs"):
        pellucid.train(other, DATA.X, DATA.y, steps=30, checkpoint=tmp_path / "a" / "b")


@pytest.mark.parametrize("folder", [5, "", b""])
def test_a_checkpoint_that_is_no_path_is_refused(folder, as_users_run):
    with pytest.raises(InvalidInput, match="it needs the path of a folder"):
        train_many(folder)


@pytest.mark.parametrize("every", [-1, float("nan"), float("inf"), "often", True])
def test_an_interval_that_is_no_number_of_seconds_is_refused(every, tmp_path, as_users_run):
    with pytest.raises(InvalidInput, match="it needs a number of seconds"):
        train_many(tmp_path, checkpoint_every=every)


@pytest.mark.parametrize("place", ["/proc/none", "file/inside", "file", "nul\0l", "n" * 300])
def test_a_place_that_cannot_be_is_refused_with_one_sentence(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    with pytest.raises(InvalidFile, match=r"^cannot make the checkpoint folder [^\n]+$"):
        train_many(place)


LONGER = {
    engine: {"hidden": [[2]], "seed": range(6), "steps": steps, "record_every": 1000}
    | {"engine": engine}
    for engine, steps in {"auto": 150_000, "reference": 60}.items()
}


@pytest.mark.parametrize("engine", LONGER)
def test_ctrl_c_is_saved_told_and_gone_on_from(engine, tmp_path):
    handler = signal.getsignal(signal.SIGINT)
    at = []

    def ctrl_c(done, total):
        at.append(done)
        if len(at) == 3:
            signal.raise_signal(signal.SIGINT)

    plain = train_many(**LONGER[engine])
    with pytest.warns(PellucidWarning, match=r"of 6 networks are done, and all is saved in"):
        first = train_many(tmp_path, **LONGER[engine], progress=ctrl_c, threads=1)
    assert first.interrupted
    assert signal.getsignal(signal.SIGINT) is handler
    assert at[-1] < 6 * LONGER[engine]["steps"]
    then = []
    resumed = train_many(tmp_path, **LONGER[engine], progress=lambda done, _: then.append(done))
    assert then[0] >= at[-1]
    assert same(resumed, plain)


@pytest.mark.parametrize("engine", LONGER)
def test_no_more_networks_stand_open_than_there_are_threads(engine, tmp_path, monkeypatch):
    held = []
    save = checkpoint_files.Folder.save

    def watched(folder, finished, running):
        held.append(len(running))
        save(folder, finished, running)

    monkeypatch.setattr(checkpoint_files.Folder, "save", watched)
    grid = train_many(tmp_path, **LONGER[engine], threads=2, checkpoint_every=0)
    assert len(held) > 2
    assert 0 < max(held) <= 2
    assert same(grid, train_many(**LONGER[engine]))


def test_a_full_disk_ends_the_call_with_one_sentence_and_loses_nothing(tmp_path, monkeypatch):
    jobs = [job(5, seed=s) for s in range(4)]
    write, left = checkpoint_files.write_atomically, [5]

    def full(path, data):
        left[0] -= 1
        if left[0] < 0:
            raise InvalidFile(f"cannot write {path}: no space left on device.")
        write(path, data)

    monkeypatch.setattr(checkpoint_files, "write_atomically", full)
    with pytest.raises(InvalidFile, match=r"no space left on device; the checkpoint stays"):
        run(jobs, tmp_path)
    left[0] = 10**9
    engine = Engine()
    results = run(jobs, tmp_path, engine)
    assert engine.calls[0][0][1] > 0 or len(engine.calls[0]) < 4
    plain = Engine()(jobs, lambda done, total: None)
    assert all(alike(a, b) for a, b in zip(results, plain, strict=True))
