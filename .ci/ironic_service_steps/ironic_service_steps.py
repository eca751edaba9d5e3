"""A BIOS interface with service steps for the fake hardware of a test's Ironic, found on PYTHONPATH by its entry point.

Each step that runs appends a line to the file that ``DEMO_STEP_LOG`` names, and fails for a node whose ``extra`` lists
it in ``demo_fail``, as the deploy steps of the recipe do.
"""

import json
import os
from pathlib import Path
from typing import Any

from ironic.common.exception import IronicException
from ironic.drivers import base
from ironic.drivers.modules.fake import FakeBIOS

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


def _run(task: Any, step: str, args: dict[str, Any]) -> None:
    line = {"node": task.node.uuid, "name": task.node.name, "kind": "service", "step": step, "args": args}
    with Path(os.environ["DEMO_STEP_LOG"]).open("a") as log:
        log.write(json.dumps(line) + "\n")
    if step in task.node.extra.get("demo_fail", ()):
        message = f"{step} fails on this node"
        raise IronicException(message)
