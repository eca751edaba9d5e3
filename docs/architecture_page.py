"""The page docs/reference/architecture.md: diagrams of imports, of steps and of states, from setup.cfg and the code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser
from itertools import groupby
from pathlib import Path

# What imports are counted for; the rest are single modules, which the layers show.
_PARTS = ("api", "cli", "storage", "adapters", "usecases", "actions", "workflow", "ports", "domain")
_IMPORT = re.compile(r"^\s*(?:from|import) shipyard_api\.(\w+)", re.MULTILINE)


def architecture_page(root: Path, steps: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines of the page. ``steps``: the ids of the steps of each action, in order."""
    return [
        "# Architecture\n",
        "[How it works](../explanation/how-it-works.md) explains the parts; this page draws them, from the code.\n",
        "## Layers\n",
        "Imports only go downwards. Those of one box may import each other, without a circle.\n",
        *_mermaid("flowchart TB", _layers(root)),
        "\n## Imports between packages\n",
        "What each package imports, without the modules at the top that wire everything.\n",
        *_mermaid("flowchart TB", _imports(root)),
        "\n## Steps\n",
        "What the actions do, in order. Steps with the same word before the dot are one box.\n",
        *_mermaid("flowchart LR", _steps(steps)),
        "\n[Actions](actions.md) has the parameters, and says which steps run after a failure.\n",
        "## States\n",
        "[States](states.md) draws those of actions, steps, work items, groups and nodes.",
    ]


def _layers(root: Path) -> Iterator[str]:
    setup = ConfigParser()
    setup.read(root / "setup.cfg", encoding="utf-8")
    layers = setup["importlinter:contract:layers"]["layers"].split("\n")
    boxes = [", ".join(sorted(re.split(r"\s*:\s*", layer.strip()))) for layer in layers if layer.strip()]
    for number, box in enumerate(boxes):
        yield f'l{number}["{box}"]'
    yield " --> ".join(f"l{number}" for number in range(len(boxes)))


def _imports(root: Path) -> Iterator[str]:
    for part in _PARTS:
        folder = root / "shipyard_api" / part
        imported = {name for path in folder.rglob("*.py") for name in _IMPORT.findall(path.read_text(encoding="utf-8"))}
        for other in _PARTS:
            if other != part and other in imported:
                yield f"{part} --> {other}"


def _steps(steps: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a chain for each action; steps that follow each other with one prefix, before the dot, are one box."""
    for action, ids in steps.items():
        prefixes = [prefix for prefix, _ in groupby(one.partition(".")[0] for one in ids)]
        boxes = [f'{action}_{number}["{prefix}"]' for number, prefix in enumerate(prefixes)]
        yield " --> ".join([f"{action}([{action}])", *boxes])


def _mermaid(kind: str, lines: Iterator[str]) -> list[str]:
    return ["```mermaid", kind, *(f"    {line}" for line in lines), "```"]
