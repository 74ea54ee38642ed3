"""Both number types in one call: each job as if it were alone, from one set of rows."""

import numpy as np
import pytest

from pellucid._kernels import train_networks


def same(a, b):
    """The same bits in the same type."""
    assert a.parameters.dtype == b.parameters.dtype
    assert a.parameters.tobytes() == b.parameters.tobytes()
    assert a.losses.tobytes() == b.losses.tobytes()
    assert a.validation_losses.tobytes() == b.validation_losses.tobytes()
    assert (a.status, a.steps_done, a.best_step) == (b.status, b.steps_done, b.best_step)


def wide_rows(toolbox, n, d_in, likelihood, seed=0):
    """Rows in float64 that float32 rounds."""
    rng = np.random.default_rng(seed)
    _, y = toolbox.make_data(n, d_in, 3, likelihood, seed)
    X = rng.normal(size=(n, d_in))
    return X, y if likelihood == "categorical" else y.astype(float) / 3


def mixed_jobs(toolbox, likelihood):
    """Both types alternately, small and large, with and without minibatches and dropout."""
    hidden = [(), (4,), (64,), (8, 8, 8), (40, 30), (16,)]
    jobs = [
        toolbox.make_job(
            (2, *widths, 3),
            ("relu", "tanh", "gelu")[i % 3],
            likelihood,
            weights=i,
            dtype=("float32", "float64")[i % 2],
            steps=30,
            batch_size=(0, 0, 32, 32)[i % 4],
            dropout=0.3 * (i % 3 == 1),
            seed=i,
        )
        for i, widths in enumerate(hidden)
    ]
    return [*jobs, *(toolbox.in_type(job, "float64") for job in jobs)]


def narrowed(rows):
    return tuple(r if r.dtype.kind == "i" else r.astype(np.float32) for r in rows)


@pytest.mark.parametrize("likelihood", ["categorical", "gaussian"])
@pytest.mark.parametrize("engine", ["kernel", "reference"])
def test_a_mixed_call_equals_separate_calls_bit_for_bit(toolbox, engine, likelihood):
    rows, held_out = wide_rows(toolbox, 90, 2, likelihood), wide_rows(toolbox, 31, 2, likelihood, 1)
    u = np.random.default_rng(2).uniform(0, 2, 90)
    jobs = mixed_jobs(toolbox, likelihood)

    def trained(jobs, rows, held_out, u, threads=1):
        return train_networks(
            *rows,
            jobs,
            X_validation=held_out[0],
            y_validation=held_out[1],
            sample_weight=u,
            threads=threads,
            engine=engine,
            functions=toolbox.functions,
        )

    together = trained(jobs, rows, held_out, u)
    for job, result, again in zip(
        jobs, together, trained(jobs, rows, held_out, u, threads=2), strict=True
    ):
        assert result.parameters.dtype == job.parameters.dtype
        same(result, again)
        [alone] = trained([job], rows, held_out, u)
        same(result, alone)
        if job.parameters.dtype == np.float32:  # the rows are rounded as the caller would
            [given] = trained([job], narrowed(rows), narrowed(held_out), u.astype(np.float32))
            same(result, given)


def test_on_each_instruction_set_both_types_follow_the_same_path(toolbox, isa):
    """The same start, rows and masks: float32 differs from float64 by its rounding alone."""
    X, y = toolbox.make_data(83, 3, 4)
    for settings in ({"dropout": 0.3}, {"batch_size": 19}, {"activation": "gelu"}):
        job = toolbox.make_job((3, 40, 9, 4), **{"activation": "tanh"} | settings)
        narrow, wide = (toolbox.kernel(X, y, toolbox.in_type(job, t)) for t in ("f4", "f8"))
        np.testing.assert_allclose(narrow.losses, wide.losses, rtol=1e-4)
        assert np.abs(narrow.losses - wide.losses).max() > 0


def test_numbers_beyond_float32_are_for_float64_jobs(toolbox):
    """A table that only float64 holds is refused only where a float32 job would have to hold it."""
    X, y = toolbox.make_data(30, 2, 1, "gaussian")
    X = X.astype(float) * 1e60
    job = toolbox.make_job((2, 1), likelihood="gaussian", dtype="float64", optimizer="sgd")
    job = toolbox.replace(job, parameters=job.parameters * 1e-60, learning_rate=1e-121)
    result = toolbox.kernel(X, y, job)
    assert result.status == "finished"
    assert result.losses[-1] < result.losses[0]
    toolbox.assert_close(result, toolbox.reference(X, y, job))


def test_subnormal_numbers_are_flushed_in_float64_too(toolbox, native, isa):
    x = np.array([-745.0, -720.0])
    out = np.empty(2)
    native.float64.apply("exp", x, out)
    np.testing.assert_array_equal(out, 0)
    assert np.float64(1e-308) * 0.1 > 0  # the caller's own mode is back


def test_divergence_in_float64_gives_back_finite_parameters(toolbox):
    X, y = toolbox.make_data(60, 3, 1, "gaussian")
    job = toolbox.make_job(
        (3, 8, 1), "identity", "gaussian", dtype="float64", optimizer="sgd", learning_rate=1e30
    )
    result, expected = toolbox.kernel(X, y, job), toolbox.reference(X, y, job)
    assert (result.status, result.steps_done) == (expected.status, expected.steps_done)
    assert result.status == "diverged"
    assert np.isfinite(result.parameters).all()


def test_the_compiled_module_keeps_the_types_apart(toolbox, native):
    X, y = toolbox.make_data(20, 2, 3)
    labels = y.astype(np.int32)
    with pytest.raises(TypeError, match="incompatible"):
        native.float64.Job(native.float32.Data(X, labels, None))
    with pytest.raises(TypeError, match="incompatible"):  # what is written to is never a copy
        native.float32.apply("exp", np.zeros(3, np.float32), np.zeros(3))
