"""The kernel's random bits: splitmix64 of Steele, Lea and Flood (2014)."""

from collections.abc import Iterator

WORD = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mix(state: int) -> int:
    """The 64 bits that follow a state."""
    z = (state + _STEP) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def splitmix64(seed: int) -> Iterator[int]:
    """64 random bits at a time from a counter."""
    state = seed & WORD
    while True:
        yield mix(state)
        state = (state + _STEP) & WORD


def advance(state: int, n: int) -> int:
    """The state after n draws."""
    return (state + n * _STEP) & WORD
