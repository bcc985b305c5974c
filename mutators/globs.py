"""Shell globs on names, compiled once: case counts, and `*` stands for anything."""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate

__all__ = ["matcher"]


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """A test whether a name matches one of the globs; without globs nothing does."""
    pattern = re.compile("|".join(map(translate, globs)) or r"(?!)")
    return lambda name: pattern.match(name) is not None
