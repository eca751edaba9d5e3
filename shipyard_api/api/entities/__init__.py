"""The entities of the REST API, each said once: answers are encoded from them, and the command line decodes with them.

Their components of the OpenAPI document are made from them, too (``./dev docs``). The command line imports this package
alone, whose modules are imported when an answer is read: ``--help`` does without msgspec.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shipyard_api.api.entities import actions, groups, holds, nodes, plans, reports, tasks

__all__ = ["actions", "groups", "holds", "nodes", "plans", "reports", "tasks"]


def __getattr__(name: str) -> Any:
    """Return a module of the package."""
    if name not in __all__:
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
