"""Networks that fail for a known reason, and healthy ones: a benchmark for tools that diagnose."""
