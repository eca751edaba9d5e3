"""Distributions that a test installs: a dist-info in a directory that is put on ``sys.path``."""

from collections.abc import Mapping
from pathlib import Path


def install(directory: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the metadata of a distribution. ``entry_points``: by group and name."""
    info = directory / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
