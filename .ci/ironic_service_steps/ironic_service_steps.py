"""Interfaces with service, burn-in and hanging steps, and recorded inspections, for fake hardware of a test's Ironic.

Each step that runs appends a line to the file that ``DEMO_STEP_LOG`` names, and fails for a node whose ``extra`` lists
it in ``demo_fail``, as the deploy steps of the recipe do.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from ironic.common import states
from ironic.common.exception import IronicException
from ironic.drivers import base
from ironic.drivers.modules import inspect_utils
from ironic.drivers.modules.fake import FakeBIOS, FakeDeploy, FakeInspect
from ironic.drivers.modules.inspector.hooks.parse_lldp import ParseLLDPHook

LONGEST = 900.0  # seconds that a step hangs for a test that is killed
SETTINGS = {"settings": {"description": "the settings", "required": True}}


class ServiceBIOS(FakeBIOS):
    """Fake BIOS whose two configuration steps also run on active nodes, without a ramdisk."""

    @base.service_step(requires_ramdisk=False)
    def factory_reset(self, task: Any) -> None:
        """Log the step."""
        _run(task, "bios.factory_reset", {})

    @base.service_step(requires_ramdisk=False, argsinfo=SETTINGS)
    def apply_configuration(self, task: Any, settings: Any) -> None:
        """Log the step."""
        _run(task, "bios.apply_configuration", {"settings": settings})


class BurnInDeploy(FakeDeploy):
    """Fake deployment with two of the agent's burn-in steps, which last as long as driver_info says."""

    @base.clean_step(priority=0, requires_ramdisk=False)
    def burnin_cpu(self, task: Any) -> None:
        """Log the step with its seconds."""
        seconds = task.node.driver_info.get("agent_burnin_cpu_timeout")
        _run(task, "deploy.burnin_cpu", {"seconds": seconds}, "manual clean")

    @base.clean_step(priority=0, requires_ramdisk=False)
    def burnin_memory(self, task: Any) -> None:
        """Log the step with its seconds."""
        seconds = task.node.driver_info.get("agent_burnin_vm_timeout")
        _run(task, "deploy.burnin_memory", {"seconds": seconds}, "manual clean")


class HangingDeploy(FakeDeploy):
    """Fake deployment whose cleaning lasts as long as there is the file that ``extra`` names in ``hangs_while``."""

    @base.clean_step(priority=10, requires_ramdisk=False)
    def erase_devices_metadata(self, task: Any) -> None:
        """Wait until the file is removed."""
        hangs_while, deadline = Path(task.node.extra["hangs_while"]), time.monotonic() + LONGEST
        while hangs_while.exists() and time.monotonic() < deadline:
            time.sleep(0.05)


class RecordedInspect(FakeInspect):
    """Fake inspection that finds what ``extra`` says in ``inspection``, and reads LLDP as the hook of Ironic does."""

    def inspect_hardware(self, task: Any) -> str:
        """Store the inventory and the data of collectors, which Ironic's own hook completes."""
        found = task.node.extra["inspection"]
        inventory, plugin_data = found["inventory"], found["plugin_data"]
        ParseLLDPHook()(task, inventory, plugin_data)
        inspect_utils.store_inspection_data(task.node, inventory, plugin_data, task.context)
        return states.MANAGEABLE


def _run(task: Any, step: str, args: dict[str, Any], kind: str = "service") -> None:
    line = {"node": task.node.uuid, "name": task.node.name, "kind": kind, "step": step, "args": args}
    with Path(os.environ["DEMO_STEP_LOG"]).open("a") as log:
        log.write(json.dumps(line) + "\n")
    if step in task.node.extra.get("demo_fail", ()):
        message = f"{step} fails on this node"
        raise IronicException(message)
