"""The arithmetic floor: forward and backward products at the best rate of one core's BLAS."""

import time

import numpy as np
from threadpoolctl import threadpool_limits


def sgemm_rates(quick: bool = False) -> dict[int, float]:
    """Operations per second of float32 square products on one BLAS thread, by size."""
    sizes = (256, 512) if quick else (256, 512, 1024, 2048)
    with threadpool_limits(1):
        return {n: _best_rate(n, max(3, 2**31 // n**3)) for n in sizes}


def _best_rate(n: int, repeats: int) -> float:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, n, n)).astype(np.float32)
    C, best = np.empty_like(A), float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        np.matmul(A, B, out=C)
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best
