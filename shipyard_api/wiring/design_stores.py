"""Builds the document store from the settings, for ``bootstrap``."""

import sqlalchemy as sa

from shipyard_api.adapters.encryption.fernet import FernetEncryption
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.firmware import read_firmware
from shipyard_api.domain.drift.settings import WantedValues
from shipyard_api.domain.nodes import Inventory
from shipyard_api.domain.site_design import SchemaCheck
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision, UnreadableDesign
from shipyard_api.settings.plugins import DESIGN_STORES
from shipyard_api.storage.designs import RevisionImport, SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.wiring import peer_tokens
from shipyard_api.wiring.settings import Settings, SettingsError


def embedded_designs(settings: Settings) -> SqlDesigns:
    """Return the embedded document store; needs only the database and the keys."""
    if not settings.database.url:
        raise SettingsError(["DATABASE_URL is not set"])
    return SqlDesigns(connect(settings.database.url, pool_size=1), _encryption(settings), DataSchemas())


def revision_import(settings: Settings) -> RevisionImport:
    """Return what adds revisions of another store to the embedded one. Raises SettingsError."""
    return RevisionImport(connect(settings.database.url, pool_size=1), _encryption(settings))


def design_store(settings: Settings, engine: sa.Engine, compile_schema: DataSchemas) -> DesignStore:
    """Return the document store, without connecting yet. Raises SettingsError."""
    if settings.design_store() is None:
        return SqlDesigns(engine, _encryption(settings), compile_schema)
    return other_store(settings, settings.designs.store, fingerprint_key=keys(settings)[0])


def other_store(settings: Settings, name: str, *, fingerprint_key: str) -> DesignStore:
    """Return the store of a plug-in, without connecting yet. Raises SettingsError."""
    plugin, options = settings.plugin(DESIGN_STORES, name)
    return plugin.build(
        options, lambda peer_options: peer_tokens.peer_tokens(peer_options, settings.keystone), fingerprint_key.encode()
    )


def _encryption(settings: Settings) -> FernetEncryption | None:
    known = keys(settings)
    if not known:
        return None
    try:
        return FernetEncryption(known)
    except ValueError as error:
        raise SettingsError([f"[secrets] keys: {error}"]) from error


def keys(settings: Settings) -> tuple[str, ...]:
    """Return the keys of secrets, newest first. Raises SettingsError."""
    try:
        return settings.secrets.newest_first()
    except ValueError as error:
        raise SettingsError([str(error)]) from error


def firmware(rendered: RenderedDesigns, check: SchemaCheck, revision: Revision) -> WantedValues:
    """Return the firmware that a revision wants on its nodes; none if it cannot be read."""
    try:
        return read_firmware(rendered.of(revision), check)[0]
    except (UnknownRevision, RenderingFailed):
        return {}


def machines(rendered: RenderedDesigns, revision: int) -> Inventory:
    """Return the machines of a revision; raises UnreadableDesign if it cannot be read."""
    try:
        return rendered.inventory(Revision(revision))
    except UnknownRevision as error:
        raise UnreadableDesign(f"Revision not found: {error}") from error
    except RenderingFailed as error:
        raise UnreadableDesign("Document validation failed: InvalidConfigurationDocuments") from error
