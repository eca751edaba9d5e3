"""The hardware of a node as tables, or as a document. Pure."""

from collections.abc import Iterator, Mapping

from shipyard_api.cli.output.printout import Printout, TextTable, sections, table
from shipyard_api.cli.output.shapes import JsonObject, list_at, object_at, objects_at, parse_object, required
from shipyard_api.cli.output.wording import printable

_GIB = 1024**3
_STEP = 1000


def hardware(text: str) -> Printout:
    """Return the differences of a node to the design, and what was seen of it."""
    body = parse_object(text)
    node, differences = required(body, "node"), list_at(body, "differences")
    lines = [f"node/{node}: {_verdict(body, len(differences))}", *(f"  {printable(each)}" for each in differences)]
    if unknown := body.get("unknown"):
        lines.append(f"Not compared: {printable(unknown)}")
    parts: list[str | TextTable] = ["\n".join(lines)]
    if body.get("seen"):
        parts.append(table(list(_rows(object_at(body, "seen"))), ("Part", "Seen"), gap=4))
    return sections(*parts)


def document(text: str) -> str:
    """Return the document that expects the hardware of a node."""
    import yaml

    body = parse_object(text)
    if not body.get("document"):
        return f"# {printable(body.get('unknown'))}"
    return yaml.safe_dump(body["document"], default_flow_style=False, sort_keys=False, allow_unicode=True).rstrip("\n")


def _verdict(body: JsonObject, differences: int) -> str:
    if differences:
        return f"{differences} difference{'s' * (differences != 1)} to the expected hardware"
    return "as expected" if body.get("expected") else "the design expects no hardware of it"


def _rows(seen: JsonObject) -> Iterator[tuple[str, object]]:
    counts = [f"{seen[name]} {name}" for name in ("sockets", "cores", "threads") if seen.get(name)]
    yield "Server", " ".join(str(seen.get(name) or "") for name in ("model", "firmware")).strip()
    yield "CPU", ", ".join(filter(None, (str(seen.get("cpu_model") or ""), *counts)))
    memory = seen.get("memory")
    modules = f", {seen['modules']} modules" if seen.get("modules") else ""
    yield "Memory", f"{memory / _GIB:g} GiB{modules}" if isinstance(memory, int) and memory else ""
    for disk in objects_at(seen, "disks") if seen.get("disks") else ():
        yield f"Disk {disk.get('name')}", f"{disk.get('kind') or ''} {_decimal(disk.get('size'))}".strip()
    neighbours = seen.get("neighbours")
    ends = neighbours if isinstance(neighbours, Mapping) else {}
    for nic in objects_at(seen, "nics") if seen.get("nics") else ():
        yield f"Network card {nic.get('name')}", _nic(nic, ends.get(nic.get("name")))
    for model in list_at(seen, "accelerators") if seen.get("accelerators") else ():
        yield "Accelerator", model
    yield "BMC", seen.get("bmc_version")


def _nic(nic: JsonObject, end: object) -> str:
    speed = nic.get("speed")
    words = [f"{speed} Mbit/s" if speed else "", str(nic.get("driver") or ""), str(nic.get("mac") or "")]
    if isinstance(end, Mapping):
        switch, port = (next(iter(end.get(name) or ()), "?") for name in ("switch", "port"))
        words.append(f"on {switch} port {port}")
    return ", ".join(filter(None, words))


def _decimal(size: object) -> str:
    value = float(size) if isinstance(size, int) else 0.0
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < _STEP or unit == "TB":
            return f"{value:.4g} {unit}"
        value /= _STEP
    return ""
