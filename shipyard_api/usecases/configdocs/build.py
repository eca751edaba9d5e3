"""The use cases on documents, built together."""

from collections.abc import Sequence

from msgspec import Struct

from shipyard_api.domain.documents import Compile
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.version_rule import VersionRule
from shipyard_api.ports.documents import DesignStore, WriterLock
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, Validator
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.read import ReadConfigdocs
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


class ConfigdocsUseCases(Struct, frozen=True):
    """What callers do with documents."""

    load: LoadConfigdocs
    commit: CommitConfigdocs
    read: ReadConfigdocs


def build(
    *,
    designs: DesignStore,
    rendered: RenderedDesigns,
    lock: WriterLock,
    rules: DesignRules,
    compile_schema: Compile,
    on_load: VersionRule,
    validators: Sequence[Validator],
) -> ConfigdocsUseCases:
    """Return the use cases. ``on_load``: the rule for designs without a version when they are loaded, not committed."""
    return ConfigdocsUseCases(
        LoadConfigdocs(designs, lock, compile_schema, on_load),
        CommitConfigdocs(designs, rendered, lock, rules, validators),
        ReadConfigdocs(designs, rendered),
    )
