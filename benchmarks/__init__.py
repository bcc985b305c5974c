"""What `make bench` measures; docs/benchmarks.md says how to read it."""
