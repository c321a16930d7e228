"""One file per claim, peers side by side in one run, their answers compared.  `python -m benchmarks`."""
