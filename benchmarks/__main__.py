"""All benchmarks one after the other on one private broker: a table each, one JSON file."""

import sys

from benchmarks import end_to_end, idleness, latency, mixed, move, publish, route, scale
from benchmarks.session import main

if __name__ == "__main__":
    parts = (route, publish, move, end_to_end, latency, idleness, scale, mixed)
    sys.exit(main(*(part.run for part in parts)))
