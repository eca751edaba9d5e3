"""The errors of the state store."""

from collections.abc import Sequence

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.nodes import NodeName


class StoreUnavailable(Exception):
    """The database is unreachable or hung up; the transaction was rolled back, or its outcome is unknown."""


class StoreFull(StoreUnavailable):
    """The database answers, and has no room for what would be written: the disk of its server is full."""


class UnsuitableDatabase(Exception):
    """The database answers, and this release cannot work with it; the text is one sentence that says what to do."""


class Fenced(Exception):
    """A later turn of the action has started: this one must stop at once and write nothing."""


class SiteBusy(Exception):
    """Another site action is running; ``running`` is its id. ``nodes``: those that both name, if they do."""

    def __init__(self, running: ActionId, name: ActionName, nodes: Sequence[NodeName] = ()) -> None:
        super().__init__(f"{name} {running} is running")
        self.running = running
        self.name = name
        self.nodes = nodes


class RequestKeyTaken(Exception):
    """The caller has already created an action with this key."""


class TemplateNameTaken(Exception):
    """Another deploy template has this name."""


class TemplateIdTaken(Exception):
    """Another deploy template has this id."""


class ReleaseTaken(Exception):
    """Another release has this name and version."""
