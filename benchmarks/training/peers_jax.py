"""JAX's side: jit and `lax.scan` over all steps, with vmap over the networks of one shape.

float32; Adam is PyTorch's formula by hand; the buffers of the parameters are donated. Compiling is
not timed with the training: `COMPILE_SECONDS` has it.
"""

import functools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import pellucid

from .ours import Outcome
from .works import Work

#: None where it is not installed: nobody but the benchmarks needs it
jax: Any = import_module("jax") if find_spec("jax") else None
jnp: Any = jax and jax.numpy
INSTALLED = jax is not None
NOT_INSTALLED = "JAX, which is not installed"

COMPILE_SECONDS: dict[str, float] = {}
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Program:
    """What a compiled training depends on besides its arrays."""

    name: str
    likelihood: str
    learning_rate: float
    n: int
    epochs: int
    batch_size: int | None
    many: bool

    def train(self, parameters: Any, x: Any, y: Any, order: Any) -> Any:
        """The whole training: the parameters after the last step, and the loss of each step."""
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        carry = (parameters, zeros, zeros, jnp.float32(0))
        if self.batch_size is None:
            carry, losses = jax.lax.scan(
                lambda c, _: self.step(c, x, y), carry, None, length=self.epochs
            )
        else:
            carry, losses = jax.lax.scan(lambda c, o: self.epoch(c, x[o], y[o]), carry, order)
        return carry[0], losses

    def epoch(self, carry: Any, x: Any, y: Any) -> Any:
        """Whole batches, then the short one if there is one."""
        size = self.batch_size or self.n
        whole, rest = divmod(self.n, size)
        inputs, targets = (a[: whole * size].reshape(whole, size, -1) for a in (x, y))
        carry, losses = jax.lax.scan(lambda c, b: self.step(c, *b), carry, (inputs, targets))
        if rest:
            carry, last = self.step(carry, x[-rest:], y[-rest:])
            losses = jnp.append(losses, last)
        return carry, losses

    def step(self, carry: Any, x: Any, y: Any) -> Any:
        p, m, v, t = carry
        both = jax.value_and_grad(self.loss)
        loss, g = (jax.vmap(both, in_axes=(0, None, None)) if self.many else both)(p, x, y)
        t = t + 1
        rate = self.learning_rate / -jnp.expm1(t * math.log(BETA1))  # 1 - beta1^t, not cancelled
        root = jnp.sqrt(-jnp.expm1(t * math.log(BETA2)))
        m = jax.tree.map(lambda a, b: a + (1 - BETA1) * (b - a), m, g)
        v = jax.tree.map(lambda a, b: BETA2 * a + (1 - BETA2) * b * b, v, g)
        p = jax.tree.map(lambda a, b, c: a - rate * b / (jnp.sqrt(c) / root + EPSILON), p, m, v)
        return (p, m, v, t), loss

    def loss(self, parameters: Any, x: Any, y: Any) -> Any:
        """Mean loss in nats; y holds one column a class for labels."""
        *hidden, (W, b) = parameters
        for V, c in hidden:
            x = jax.nn.relu(x @ V + c)
        outputs = x @ W + b
        if self.likelihood == "categorical":
            return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(outputs), axis=1))
        return 0.5 * jnp.mean((outputs - y) ** 2) + math.log(2 * math.pi) / 2


def train(work: Work, record: bool = False) -> Outcome:
    """One network."""
    parameters, losses = _run(work, _start(work, work.seed), many=False, threads=True)
    flat = np.concatenate([_flat(W, b) for W, b in parameters])[None]
    return Outcome(flat, np.size(losses), np.ravel(losses)[:, None])


def vmapped(
    work: Work, seeds: Sequence[int], record: bool = False, threads: bool = True
) -> Outcome:
    """All starts of one shape at once."""
    starts = [_start(work, seed) for seed in seeds]
    stacked = jax.tree.map(lambda *each: np.stack(each), *starts)
    parameters, losses = _run(work, stacked, many=True, threads=threads)
    flat = [
        np.concatenate([_flat(np.asarray(W)[i], np.asarray(b)[i]) for W, b in parameters])
        for i in range(len(seeds))
    ]
    return Outcome(np.array(flat), len(losses), np.asarray(losses))


def _start(work: Work, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    net = pellucid.initialize(work.widths, activation=work.activation, seed=seed)
    return [(W.T, b) for W, b in zip(net.weights, net.biases, strict=True)]


def _flat(W: Any, b: Any) -> np.ndarray:
    return np.concatenate([np.asarray(W).T.ravel(), np.asarray(b)])


def _run(work: Work, parameters: Any, many: bool, threads: bool) -> Any:
    """Move the arrays over, train, wait for the end."""
    program = Program(
        work.name,
        work.likelihood,
        work.learning_rate,
        len(work.X),
        work.epochs,
        work.batch_size,
        many,
    )
    x, y = _rows(program, work)
    arguments = (jax.device_put(parameters), x, y, work.order())
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arguments)
    leaves, structure = jax.tree.flatten(shapes)
    compiled = _compiled(program, tuple(leaves), structure, threads)
    return jax.block_until_ready(compiled(*arguments))


def _rows(program: Program, work: Work) -> tuple[Any, Any]:
    if program.likelihood == "gaussian":
        return jax.device_put(work.X), jax.device_put(work.y.astype(np.float32)[:, None])
    one_hot = np.eye(work.widths[-1], dtype=np.float32)[work.y]
    return jax.device_put(work.X), jax.device_put(one_hot)


@functools.cache
def _compiled(program: Program, leaves: tuple[Any, ...], structure: Any, threads: bool) -> Any:
    start = time.perf_counter()
    lowered = jax.jit(program.train, donate_argnums=0).lower(*jax.tree.unflatten(structure, leaves))
    options = None if threads else {"xla_cpu_multi_thread_eigen": False}
    compiled = lowered.compile(compiler_options=options)
    COMPILE_SECONDS[program.name] = time.perf_counter() - start
    return compiled
