"""Wire webhooks: what delivers events to the targets of the settings."""

from collections.abc import Callable, Sequence
from functools import partial

from shipyard_api.adapters.webhooks import Target
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring.settings import Settings, SettingsError


def targets(settings: Settings) -> Sequence[Target]:
    """Return the targets of the settings. Raises SettingsError."""
    try:
        return settings.webhooks.targets()
    except ValueError as error:
        raise SettingsError([str(error)]) from None


def deliveries(settings: Settings, store: Store, worker: str) -> Sequence[Callable[[], object]]:
    """Return what delivers events to each target, and never ends. Raises SettingsError."""
    if not (receivers := targets(settings)):
        return ()
    from shipyard_api.adapters.webhooks.receiver import WebhookReceiver
    from shipyard_api.usecases.webhooks import DeliverEvents, deliver_for_ever

    seconds = settings.webhooks.timeout_seconds
    return [
        partial(deliver_for_ever, DeliverEvents(store, WebhookReceiver(target, seconds), worker))
        for target in receivers
    ]
