"""The page docs/reference/where-things-are.md: for each feature its files in each layer, its tests and its how-to.

A feature is found by the names of files and folders. A test says where a layer has none that is just its noun.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

PRODUCT = Path("shipyard_api")
_TESTS = "tests"


@dataclass(frozen=True)
class Feature:
    """A feature: the ``nouns`` that names of files have, and the page for those who use it."""

    title: str
    nouns: tuple[str, ...]
    howto: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The names that have one of the nouns, as a word or with an s."""
        words = (rf"{noun}(?:e?s)?(?![a-z])" for noun in self.nouns)
        return re.compile(rf"(?<![a-z])(?<!use_)(?<!wire_)(?:{'|'.join(words)})")  # use cases, cases on the wire


FEATURES = (
    Feature("Approvals", ("approve", "approval"), "approve-a-plan"),
    Feature("Assignment of roles", ("assignment",), "run-a-fuel-graph"),
    Feature("Burn-in", ("burn_in",), "burn-in-servers"),
    Feature("Causes of failures", ("case",), "find-the-one-cause"),
    Feature("Deploy templates", ("deploy_template", "deploy_step"), "deploy-templates"),
    Feature("Drift", ("drift",), "find-drift"),
    Feature("Etcd", ("etcd",), "redeploy-a-server"),
    Feature("Expected hardware", ("hardware",), "check-the-hardware"),
    Feature("Forecast", ("forecast",), "roll-out-carefully"),
    Feature("Holds", ("hold",), "control-an-action"),
    Feature("Late nodes", ("late_node", "lateness"), "roll-out-carefully"),
    Feature("Lost histories", ("history", "historie", "lost"), "restore-a-backup"),
    Feature("Notes and logs", ("note", "log", "journal"), "follow-an-action"),
    Feature("OpenID Connect", ("oidc",), "sign-in-with-oidc"),
    Feature("Plans", ("plan",), "approve-a-plan"),
    Feature("Power cycle", ("power_cycle", "power"), "power-cycle-servers"),
    Feature("Pulled designs", ("pull", "git"), "pull-from-git"),
    Feature("Reconciliation", ("reconcile", "reconciliation"), "fix-a-failure"),
    Feature("Rollout policy", ("policy", "pace", "pacing", "wave", "gate", "window", "budget"), "roll-out-carefully"),
    Feature("Sites", ("site",), "serve-many-sites"),
    Feature("Specifications and impact", ("specification", "impact"), "change-a-running-site"),
    Feature("Stragglers", ("straggler",), "control-an-action"),
    Feature("Tasks and software", ("task_graph", "software"), "write-tasks"),
    Feature("Teardown", ("teardown", "drain"), "redeploy-a-server"),
    Feature("Tokens", ("token",), "identity"),
    Feature("Webhooks and events", ("webhook", "event"), "send-events"),
)


def where_page(root: Path) -> str:
    """Return the page."""
    lines = [
        "# Where things are",
        "",
        "The files of each feature by layer, found by their names. A folder means all files in it. The page",
        "[Architecture](architecture.md) draws the layers.",
        "",
    ]
    product = [path.relative_to(root) for path in sorted((root / PRODUCT).rglob("*.py"))]
    tests = [path.relative_to(root) for path in sorted((root / _TESTS).rglob("test_*.py"))]
    for feature in FEATURES:
        lines += [f"## {feature.title}", "", "| where | files |", "|---|---|"]
        lines += [f"| {layer} | {listed(found)} |" for layer, found in layers(feature, product).items()]
        if tested := _entries(feature, tests, Path(_TESTS)):
            lines.append(f"| tests | {listed(tested)} |")
        lines += [f"| how to | [{feature.howto}](../howto/{feature.howto}.md) |", ""]
    return "\n".join(lines).rstrip() + "\n"


def layers(feature: Feature, product: Sequence[Path]) -> Mapping[str, Sequence[str]]:
    """Return what a feature has in each layer that has any of it, as paths from the layer on."""
    grouped = groupby((path for path in product if len(path.parts) > 2), key=lambda path: path.parts[1])
    found = {layer: _entries(feature, [*paths], PRODUCT / layer) for layer, paths in grouped}
    return {layer: entries for layer, entries in found.items() if entries}


def listed(entries: Sequence[str]) -> str:
    """Return entries as a cell of a table."""
    return " ".join(f"`{entry}`" for entry in entries)


def _entries(feature: Feature, paths: Sequence[Path], top: Path) -> Sequence[str]:
    return [*dict.fromkeys(entry for path in paths for entry in _entry(feature, path.relative_to(top)))]


def _entry(feature: Feature, path: Path) -> Iterator[str]:
    """Yield the path, or the first folder of it that has the noun, if either has."""
    for length, part in enumerate(path.parts, start=1):
        if feature.pattern.search(part.removesuffix(".py")) and part != "__init__.py":
            yield "/".join(path.parts[:length]) + ("/" if length < len(path.parts) else "")
            return
