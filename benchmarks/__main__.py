"""All benchmarks one after the other on one private broker: a table each, one JSON file."""

import sys

from benchmarks import move, publish, route
from benchmarks.session import main

if __name__ == "__main__":
    sys.exit(main(route.run, publish.run, move.run))
