"""The errors of the state store."""


class StoreUnavailable(Exception):
    """The database is unreachable or hung up; the transaction was rolled back, or its outcome is unknown."""


class StoreFull(StoreUnavailable):
    """The database answers, and has no room for what would be written: the disk of its server is full."""


class UnsuitableDatabase(Exception):
    """The database answers, and this release cannot work with it; the text is one sentence that says what to do."""


class Fenced(Exception):
    """A later turn of the action has started: this turn must stop at once and write nothing."""


class RequestKeyTaken(Exception):
    """The caller has already created an action with this key."""
