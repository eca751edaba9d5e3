"""Machines that exist without enlistment: those of a site, of a scenario, or of a test."""

from collections.abc import Iterable

from shipyard_simulators.maas import plans
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.places import Tag
from shipyard_simulators.maas.region import ChangeCause, Region
from shipyard_simulators.maas.site import MachineSeed
from shipyard_simulators.maas.statuses import BY_LABEL, OWNED, POWERED, Status
from shipyard_simulators.scenario import Scenario


def seed_machines(region: Region, seeds: Iterable[MachineSeed]) -> None:
    """Add the machines of a site, then those of the scenario, unless an earlier run left some."""
    with region.transaction() as now:
        if region.restored:
            return
        known: dict[str, Machine] = {}
        for seed in seeds:
            known[seed.hostname] = _place(region, seed, now, ChangeCause("site"), known.get(seed.hostname))
        _place_scenario(region, now)


def play(region: Region, scenario: Scenario) -> None:
    """Replace the scenario. Running work keeps its plan."""
    with region.transaction() as now:
        region.scenario = scenario
        for machine in region.machines.values():
            machine.attempts = {}
        _place_scenario(region, now)


def _place_scenario(region: Region, now: float) -> None:
    for hostname, label in region.scenario.machines.items():
        place(region, MachineSeed(hostname, status=BY_LABEL[label]), now, ChangeCause("scenario"))


def place(region: Region, seed: MachineSeed, now: float, cause: ChangeCause) -> Machine:
    """Add a machine as the seed describes it, or change the one of that name."""
    found = next((each for each in region.machines.values() if each.hostname == seed.hostname), None)
    return _place(region, seed, now, cause, found)


def _place(region: Region, seed: MachineSeed, now: float, cause: ChangeCause, found: Machine | None) -> Machine:
    machine = found or region.add(seed.hostname)
    for tag in seed.tags:
        region.tags.setdefault(tag, Tag(tag))
    if seed.zone:
        machine.zone = region.place_named(region.zones, seed.zone).name
    if seed.pool:
        machine.pool = region.place_named(region.pools, seed.pool).name
    machine.tags = sorted({*machine.tags, *seed.tags})
    machine.mac_addresses = list(seed.mac_addresses) or machine.mac_addresses
    for name, value in seed.values.items():
        setattr(machine, name, value)
    if seed.owner:
        machine.owner = seed.owner
    if seed.status is not None or found is None:
        status = Status.NEW if seed.status is None else seed.status
        _put_into(region, machine, status, now, cause, new=found is None)
        owned = seed.owner or (region.accounts.first if status in OWNED else None)
        machine.owner = owned
        machine.power_state = seed.power_state or ("on" if status in POWERED else "off")
        _go_on(region, machine, now)
    region.touch()
    return machine


def _put_into(region: Region, machine: Machine, status: Status, now: float, cause: ChangeCause, *, new: bool) -> None:
    machine.interrupt(now)
    region.change(machine, status, now, cause, "put there", new=new)
    if status is Status.DEPLOYED:
        machine.osystem, machine.distro_series = "ubuntu", "jammy"


def _go_on(region: Region, machine: Machine, now: float) -> None:
    """Give a machine that starts in a busy status the whole duration of that status."""
    status = machine.status
    if status is Status.COMMISSIONING:
        plans.plan_commissioning(region, machine, now, tests=True, stays_on=False)
    elif status is Status.TESTING:
        plans.plan_test_run(region, machine, now, stays_on=False)
    elif status is Status.DEPLOYING:
        plans.plan_deployment(region, machine, now)
    elif status is Status.DISK_ERASING:
        plans.plan_erasing(region, machine, now, quickly=True)
    elif status is Status.RELEASING:
        plans.plan_release(region, machine, now)
