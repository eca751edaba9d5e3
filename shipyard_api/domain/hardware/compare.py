"""Compare what was seen of servers with what the design expects; pure, and in the words that operators read."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field

from shipyard_api.domain.hardware.cabling import miswired
from shipyard_api.domain.hardware.expected import Cpu, Disks, Expectation, Expectations, Memory, Nics
from shipyard_api.domain.hardware.seen import (
    Aspect,
    Disk,
    Nic,
    NotSeen,
    SeenHardware,
    SeenNodes,
    binary,
    decimal,
    size_of,
)
from shipyard_api.domain.nodes import NodeName

_Part = TypeVar("_Part", Disk, Nic)
_NAMESPACE = re.compile(r"(nvme\d+)n\d+")


class Compared(Struct, frozen=True):
    """The result: how nodes differ, in sentences; and of what nothing was seen, by node, with the reason.

    ``right``: nodes that are as expected as far as they were seen. ``pairs``: nodes whose cables are swapped, each pair
    in one sentence, which is that of both nodes too. ``unread``: nodes that have not been read yet.
    """

    mismatches: Mapping[NodeName, tuple[str, ...]] = field(default_factory=dict)
    unknown: Mapping[NodeName, str] = field(default_factory=dict)
    right: tuple[NodeName, ...] = ()
    pairs: tuple[tuple[NodeName, NodeName, str], ...] = ()
    unread: tuple[NodeName, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield each difference once, with its node; that of a pair names both."""
        twins = {(node, text) for first, second, text in self.pairs for node in (first, second)}
        for first, second, text in self.pairs:
            yield f"{first} and {second}: {text}"
        for node, texts in sorted(self.mismatches.items()):
            if own := [text for text in texts if (node, text) not in twins]:
                yield f"{node}: {'; '.join(own)}"


def compare(expected: Expectations, seen: SeenNodes, nodes: Sequence[NodeName]) -> Compared:
    """Return how these nodes differ. ``expected``: all of the design, by which a wrong cable is traced."""
    mismatches: dict[NodeName, tuple[str, ...]] = {}
    unknown: dict[NodeName, str] = {}
    compared = [node for node in nodes if node in expected]
    cables = miswired(expected, {node: found for node, found in seen.items() if isinstance(found, SeenHardware)})
    for node in compared:
        found = seen.get(node)
        if isinstance(found, NotSeen):
            unknown[node] = found.why
        elif found is not None:
            if missing := _not_seen(expected[node], found):
                unknown[node] = f"the provisioner shows no {', no '.join(missing)}"
            texts = (*_differences(expected[node], found), *cables.faults.get(node, ()))
            if texts:
                mismatches[node] = texts
    pairs = tuple(pair for pair in cables.pairs if pair[0] in mismatches or pair[1] in mismatches)
    unread = tuple(node for node in compared if node not in seen)
    right = tuple(node for node in compared if node not in mismatches and node not in unknown and node in seen)
    return Compared(mismatches, unknown, right, pairs, unread)


def _not_seen(expected: Expectation, seen: SeenHardware) -> list[str]:
    cpu, memory = expected.cpu or Cpu(), expected.memory or Memory()
    lacks = {
        Aspect.CPU: bool(cpu.model and not seen.cpu_model) or bool(cpu.threads and not seen.threads),
        Aspect.SOCKETS: bool(cpu.sockets and not seen.sockets) or bool(cpu.cores and not seen.cores),
        Aspect.MEMORY: bool(memory.size) and not seen.memory,
        Aspect.MODULES: bool(memory.modules) and not seen.modules,
        Aspect.DISKS: expected.disks is not None and seen.disks is None,
        Aspect.NICS: expected.nics is not None and seen.nics is None,
        Aspect.ACCELERATORS: expected.accelerators is not None and seen.accelerators is None,
        Aspect.BMC: expected.bmc is not None and not seen.bmc_version,
        Aspect.CABLING: expected.cabling is not None and not seen.neighbours,
    }
    return [aspect.value for aspect, is_lacking in lacks.items() if is_lacking]


def _differences(expected: Expectation, seen: SeenHardware) -> Iterator[str]:
    cpu, memory = expected.cpu or Cpu(), expected.memory or Memory()
    if cpu.model and seen.cpu_model and not _is_part(cpu.model, seen.cpu_model):
        yield f'CPU model "{seen.cpu_model}" seen, "{cpu.model}" expected'
    yield from _number("CPU socket", cpu.sockets, seen.sockets)
    yield from _number("CPU core", cpu.cores, seen.cores)
    yield from _number("CPU thread", cpu.threads, seen.threads)
    if memory.size and seen.memory and not _is_near(seen.memory, size_of(memory.size), memory.tolerance):
        yield f"{binary(seen.memory)} of memory seen, {binary(size_of(memory.size))} expected"
    yield from _number("memory module", memory.modules, seen.modules)
    if expected.disks is not None and seen.disks is not None:
        yield from _parts(expected.disks, [disk for disk in seen.disks if disk.size], _DISKS)
    if expected.nics is not None and seen.nics is not None:
        yield from _parts(expected.nics, seen.nics, _NICS)
    for accelerator in expected.accelerators or () if seen.accelerators is not None else ():
        number = sum(_is_part(accelerator.model, model) for model in seen.accelerators or ())
        if number != accelerator.count:
            yield f"{number} of {accelerator.count} accelerators {accelerator.model} seen"
    if expected.bmc and seen.bmc_version and seen.bmc_version != expected.bmc.version:
        yield f"BMC version {seen.bmc_version} seen, {expected.bmc.version} expected"


def _number(what: str, expected: int, seen: int) -> Iterator[str]:
    if expected and seen and expected != seen:
        yield f"{seen} {what}{'' if seen == 1 else 's'} seen, {expected} expected"


class _Kind(Struct, frozen=True):
    """How parts of a kind are compared. ``fits``: whether a part is one of the expected; ``shown``: in words."""

    fits: Callable[..., bool]
    expected: Callable[..., str]
    shown: Callable[..., str]
    nearest: Callable[..., int]


def _parts(expected: Sequence[Disks] | Sequence[Nics], seen: Sequence[_Part], kind: _Kind) -> Iterator[str]:
    """Yield what is missing, and what there is too much of. The names of expected parts decide nothing."""
    left = list(seen)
    counts = []
    for entry in expected:
        fitting = sorted((part for part in left if kind.fits(entry, part)), key=lambda part: kind.nearest(entry, part))
        taken = fitting[: entry.count]
        left = [part for part in left if part not in taken]
        counts.append((entry, len(taken)))
    present = {_plain(part.name) for part in seen}
    for entry, number in counts:
        extra = [part for part in left if kind.fits(entry, part)]
        left = [part for part in left if part not in extra]
        if number < entry.count:
            missing = [name for name in entry.names if _plain(name) not in present]
            others = [kind.shown(part) for part in left]
            text = f"{number} of {entry.count} {kind.expected(entry)} seen"
            text += f": {', '.join(missing)} missing" if missing else ""
            yield f"{text}; other: {', '.join(others)}" if others else text
        elif extra:
            yield f"{number + len(extra)} {kind.expected(entry)} seen, {entry.count} expected"


def _fits_disk(entry: Disks, disk: Disk) -> bool:
    is_kind = not entry.type or not disk.kind or disk.kind == entry.type or (entry.type == "ssd" == _solid(disk.kind))
    return is_kind and (not entry.size or _is_near(disk.size, size_of(entry.size), entry.tolerance))


def _solid(kind: str) -> str:
    """Return the kind of a disk whose interface does not matter."""
    return "ssd" if kind == "nvme" else kind


def _disks(entry: Disks) -> str:
    words = [entry.type, "disks", f"of {decimal(size_of(entry.size))}" if entry.size else ""]
    return " ".join(word for word in [*words, f"({entry.role})" if entry.role else ""] if word)


def _disk(disk: Disk) -> str:
    return f"{disk.name} ({disk.kind}{' ' if disk.kind else ''}{decimal(disk.size)})"


def _fits_nic(entry: Nics, nic: Nic) -> bool:
    is_speed = not entry.speed or not nic.speed or nic.speed == entry.speed
    return is_speed and (not entry.driver or not nic.driver or nic.driver == entry.driver)


def _nics(entry: Nics) -> str:
    driver = f" with driver {entry.driver}" if entry.driver else ""
    return f"network cards{f' of {_speed(entry.speed)}' if entry.speed else ''}{driver}"


def _nic(nic: Nic) -> str:
    words = [_speed(nic.speed) if nic.speed else "", nic.driver]
    known = ", ".join(word for word in words if word)
    return f"{nic.name}{f' ({known})' if known else ''}"


def _speed(megabits: int) -> str:
    return f"{megabits / 1000:g} Gbit/s" if megabits >= 1000 else f"{megabits} Mbit/s"


_DISKS = _Kind(_fits_disk, _disks, _disk, lambda entry, disk: abs(disk.size - size_of(entry.size)) if entry.size else 0)
_NICS = _Kind(_fits_nic, _nics, _nic, lambda _entry, _nic: 0)


def _plain(name: str) -> str:
    """Return the name of a disk without its path and its namespace."""
    name = name.rpartition("/")[2]
    found = _NAMESPACE.fullmatch(name)
    return found[1] if found else name


def _is_part(expected: str, seen: str) -> bool:
    return " ".join(expected.lower().split()) in " ".join(seen.lower().split())


def _is_near(seen: int, expected: int, percent: float) -> bool:
    return abs(seen - expected) * 100 <= expected * percent
