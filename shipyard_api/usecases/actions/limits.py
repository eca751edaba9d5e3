"""Change the limits of an action while it runs (product, section 6: Limits may be changed while it runs)."""

from collections.abc import Iterator

from msgspec import Struct

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.error_kinds import Forbidden
from shipyard_api.domain.errors import ActionNotFound, ActionOver, InvalidParameters, NoLimits
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.limits import ON_BLOCKED, PARAMETERS, TeardownLimits
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.callers import Caller


class ActionLimits(Struct, frozen=True):
    """The use cases."""

    store: Store

    def of(self, action_id: str) -> TeardownLimits:
        """Return the limits of an action. Raises ActionNotFound and NoLimits."""
        with self.store.begin() as tx:
            return _limits(tx, action_id)

    def change(self, action_id: str, written: JsonObject, caller: Caller, *, may_delete: bool) -> TeardownLimits:
        """Change some limits of an action that has not ended, and return all of them.

        Raises InvalidParameters, Forbidden (``may_delete``: whether on-blocked may become delete), ActionNotFound,
        NoLimits and ActionOver; then nothing is changed.
        """
        if faults := tuple(_faults(written)):
            raise InvalidParameters(faults)
        if written.get(ON_BLOCKED) == OnBlocked.DELETE.value and not may_delete:
            raise Forbidden
        action = ActionId(action_id)
        with self.store.begin() as tx:
            tx.actions.lock(action)
            before = _limits(tx, action_id)
            record = tx.actions.get(action)
            if record is None or record.state in ENDED:
                raise ActionOver(action_id)
            after, wrong = before.with_parameters(written)
            if wrong:
                raise InvalidParameters(wrong)
            old, new = before.parameters(), after.parameters()
            changes = [f"{name} from {old[name]} to {new[name]}" for name in PARAMETERS if old[name] != new[name]]
            if changes:
                tx.actions.set_limits(action, after, caller.user, f"{caller.user} changed {', '.join(changes)}")
        return after


def _limits(tx: Transaction, action_id: str) -> TeardownLimits:
    record = tx.actions.get(ActionId(action_id))
    if record is None:
        raise ActionNotFound(action_id)
    if not ACTIONS[record.name].limited:
        raise NoLimits(record.name)
    return tx.actions.limits(record.id)


def _faults(written: JsonObject) -> Iterator[Finding]:
    known = ", ".join(PARAMETERS)
    if not written:
        yield error("NoLimitGiven", f"No limit is given. There are: {known}.")
    for name in written:
        if name not in PARAMETERS:
            yield error("UnknownLimit", f"There is no limit {name[:60]!r}. There are: {known}.")
