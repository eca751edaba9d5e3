"""Builds the document store from the settings, for ``bootstrap``."""

import sqlalchemy as sa

from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.deckhand.design_store import DeckhandDesigns
from shipyard_api.adapters.encryption.fernet import FernetEncryption
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision, UnreadableDesign
from shipyard_api.settings import DesignStoreKind, Settings, SettingsError
from shipyard_api.storage.design_import import RevisionImport
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.wiring import peer_tokens


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
    if settings.designs.store is DesignStoreKind.EMBEDDED:
        return SqlDesigns(engine, _encryption(settings), compile_schema)
    return deckhand_designs(settings, fingerprint_key=keys(settings)[0])


def deckhand_designs(settings: Settings, *, fingerprint_key: str) -> DeckhandDesigns:
    """Return the Deckhand of the settings, without connecting yet. Raises SettingsError."""
    own = settings.deckhand
    tokens = peer_tokens.peer_tokens(own, settings.keystone)
    client = DeckhandClient(
        own.url,
        token=tokens.token,
        renew_token=tokens.renew,
        connect_timeout=own.connect_timeout_seconds,
        read_timeout=own.read_timeout_seconds,
    )
    return DeckhandDesigns(client, fingerprint_key=fingerprint_key.encode())


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


def machines(rendered: RenderedDesigns, revision: int) -> Inventory:
    """Return the machines of a revision; raises UnreadableDesign if it cannot be read."""
    try:
        return rendered.inventory(Revision(revision))
    except UnknownRevision as error:
        raise UnreadableDesign(f"Revision not found: {error}") from error
    except RenderingFailed as error:
        raise UnreadableDesign("Document validation failed: InvalidConfigurationDocuments") from error
