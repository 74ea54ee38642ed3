"""The parts of `benchmarks/regions.py`."""
