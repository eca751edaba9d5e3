"""A place outside from which a design is pulled, such as a git repository."""

from collections.abc import Mapping
from typing import Protocol


class BrokenTree(Exception):
    """What the place holds cannot be a design, now and later; the text says why."""


class DesignSource(Protocol):
    """A place with one tree of files at a time, named by its commit. Both methods may raise ``ports.errors``."""

    def head(self) -> str:
        """Return the commit that the tree has now, cheaply."""

    def tree(self, commit: str) -> Mapping[str, bytes]:
        """Return the YAML files of a commit by their paths, in order. Raises BrokenTree.

        A commit that is no longer the head raises Unavailable.
        """
