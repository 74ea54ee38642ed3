"""A grid of networks cut into chunks of about the same cost, for workers that share nothing."""

from collections.abc import Sequence

import numpy as np

from .._kernels import TrainingJob, n_parameters

CHUNKS_PER_WORKER = 16
"""More chunks even out what the prediction gets wrong; fewer cost less to send around."""

SMALLEST_CHUNK = 5e8
"""Multiply-adds: some 20 ms of work, many times what a task of a cluster costs by itself."""


def predicted_cost(job: TrainingJob, n: int) -> float:
    """Multiply-adds of one network's training on n rows, as the kernel's queue predicts them.

    Three products a step (forward, weight gradients, gradients of the layer below), and something
    for each row, each parameter's update and each step.
    """
    rows, p = min(job.batch_size or n, n), n_parameters(job.widths)
    return job.steps * (rows * (3.0 * p + 40) + 40.0 * p + 1000)


def cut_into_chunks(jobs: Sequence[TrainingJob], n: int, workers: int) -> list[list[int]]:
    """Return the numbers of the jobs in chunks, the costliest chunk first.

    A chunk costs about 1 / (16 workers) of the whole, unless it is a single network that costs
    more; the networks of one chunk cost about the same each.
    """
    costs = np.array([predicted_cost(job, n) for job in jobs])
    most = max(costs.sum() / (workers * CHUNKS_PER_WORKER), SMALLEST_CHUNK)
    chunks: list[list[int]] = []
    room = 0.0
    for i in np.argsort(-costs, kind="stable").tolist():
        if not chunks or costs[i] > room:
            chunks.append([])
            room = most
        chunks[-1].append(i)
        room -= costs[i]
    return sorted(chunks, key=lambda chunk: -costs[chunk].sum())
