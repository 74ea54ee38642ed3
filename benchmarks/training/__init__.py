"""What `benchmarks/train.py` runs, one module a concern."""
