"""Sites with planted causes of failure, by seed: what the search for cases has to find, and what it must not."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shipyard_api.domain.cases.case import Case, CaseKind
from shipyard_api.domain.cases.features import Features, Value
from shipyard_api.domain.cases.find import NodeFact, Seen, find_cases
from shipyard_api.domain.nodes import NodeName

SMALLEST, LARGEST = 50, 10_000
MOST_BACKGROUND = 0.05
_NIGHT = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
_PLANTABLE = ("switch", "rack", "power_domain", "bmc_subnet", "model", "firmware", "host_profile", "image", "template")
_WORDS = (
    "IPMI session timed out: {host} did not answer within {number} s",
    "Timeout reached while waiting for callback for node {uuid}",
    "Failed to prepare to deploy: image {uuid} could not be found",
    "No route to host {host}",
    "The disk /dev/sd{letter} has {number} pending sectors",
    "DHCP lease was not renewed by {host}",
    "kernel panic at {number}",
    "Power did not come on after {number} attempts",
    "checksum of the image does not match",
    "raid controller {letter}{number} reports a failed battery",
    "{host} refused the connection",
    "memory module {number} failed its test",
)


@dataclass(frozen=True, slots=True)
class Plant:
    """A planted cause: most of the nodes with this value fail."""

    feature: str
    value: str


@dataclass(frozen=True, slots=True)
class CaseSite:
    """A site after its night. ``features``: as far as they are known."""

    features: Features
    nodes: Mapping[NodeName, NodeFact]
    plants: Sequence[Plant]

    @property
    def cases(self) -> Sequence[Case]:
        """What is found."""
        return find_cases(CaseKind.FAILED, self.nodes, self.features)

    def names(self, case: Case) -> bool:
        """Return whether the case names a planted cause."""
        said = {(case.feature, case.value), *((tie.feature, tie.value) for tie in case.also)}
        return any((plant.feature, plant.value) in said for plant in self.plants)


def case_site(seed: int, plants: int | None = None, *, least: int = SMALLEST, most: int = LARGEST) -> CaseSite:
    """Return the site of a seed, with 0 to 3 planted causes, or as many as given, and so many nodes."""
    draw = random.Random(seed)
    number = int(least * (most / least) ** draw.random())
    names, columns = _drawn(draw, number)
    planted = _planted(draw, columns, draw.randint(0, 3) if plants is None else plants)
    failed = {at: draw.choice(_WORDS) for at in range(number) if draw.random() < draw_background(seed)}
    for plant, words in zip(planted, draw.sample(_WORDS, len(planted)), strict=True):
        share = draw.uniform(0.7, 1.0)
        column = columns[plant.feature]
        failed |= {at: words for at in range(number) if column[at] == plant.value and draw.random() < share}
    nodes = {}
    for at, name in enumerate(names):
        sent = _NIGHT + timedelta(minutes=5 * (at * 6 // number))
        if at in failed:
            nodes[name] = NodeFact(Seen.AFFECTED, _reason(draw, failed[at]), sent + timedelta(minutes=at % 7), sent)
        else:
            nodes[name] = NodeFact(Seen.SPARED, sent=sent)
    return CaseSite(Features(names, _forgotten(draw, columns)), nodes, planted)


def draw_background(seed: int) -> float:
    """Return the share of nodes that fail on this site without a cause."""
    return random.Random(seed * 7919 + 1).uniform(0, MOST_BACKGROUND)


def _drawn(draw: random.Random, number: int) -> tuple[list[NodeName], dict[str, list[str]]]:
    in_rack, racks_of_domain = draw.choice((8, 12, 16, 20, 40)), draw.randint(2, 6)
    racks_of_subnet, switches = draw.randint(1, 4), draw.choice(("rack", "half", "pair"))
    models, images = draw.randint(2, 5), draw.randint(1, 3)
    mixed = draw.choice((0.0, 0.0, 0.2, 1.0))
    of_rack: dict[int, int] = {}
    columns: dict[str, list[str]] = {}
    names = []
    for at in range(number):
        rack = at // in_rack
        model = of_rack.setdefault(rack, draw.randrange(models))
        model = draw.randrange(models) if draw.random() < mixed else model
        role = "control" if at < max(3, number // 50) else ("storage" if (rack + at) % 5 == 0 else "compute")
        switch = {"rack": f"{rack}", "half": f"{rack}{'ab'[at % in_rack >= in_rack // 2]}", "pair": f"{rack // 2}"}
        values = {
            "rack": f"r{rack:03}",
            "switch": f"sw{switch[switches]}",
            "power_domain": f"pd{rack // racks_of_domain}",
            "bmc_subnet": f"10.{rack // racks_of_subnet}.0.0/24",
            "model": f"model-{model}",
            "firmware": f"2.{draw.randrange(3)}.{model}",
            "host_profile": role,
            "image": f"image-{draw.randrange(images) if role == 'compute' else 'base'}",
            "template": draw.choice(("none", "none", "CUSTOM_RAID", "CUSTOM_BIOS")),
            "label": draw.choice(("a=1", "a=2", "b=1")),
            "group": f"{role}-{rack // 8}",
        }
        names.append(NodeName(f"r{rack:03}n{at % in_rack:02}"))
        for feature, value in values.items():
            columns.setdefault(feature, []).append(value)
    return names, columns


def _planted(draw: random.Random, columns: Mapping[str, Sequence[str]], wanted: int) -> list[Plant]:
    """Return causes of 5 nodes to a third of the site each, and half of it together, without a common node."""
    found: list[Plant] = []
    taken: set[int] = set()
    for _ in range(200):
        if len(found) == wanted:
            break
        feature = draw.choice(_PLANTABLE)
        column = columns[feature]
        value = draw.choice(column)
        nodes = {at for at, held in enumerate(column) if held == value}
        fits = 5 <= len(nodes) <= len(column) / 3 and len(taken) + len(nodes) <= len(column) / 2
        if value != "none" and fits and not nodes & taken:
            found.append(Plant(feature, value))
            taken |= nodes
    return found


def _forgotten(draw: random.Random, columns: Mapping[str, list[str]]) -> dict[str, Sequence[Value]]:
    """Return the columns without the values that a site does not know of some nodes."""
    kept: dict[str, Sequence[Value]] = {}
    for feature, column in columns.items():
        missing = draw.choice((0.0, 0.0, 0.1, 0.3))
        kept[feature] = ["" if draw.random() < missing else value for value in column]
    return kept


def _reason(draw: random.Random, words: str) -> str:
    number, letter = draw.randrange(1, 1000), draw.choice("abcd")
    host = f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)}"
    uuid = f"{draw.getrandbits(32):08x}-1111-4222-8333-{draw.getrandbits(48):012x}"
    return words.format(number=number, letter=letter, host=host, uuid=uuid)
