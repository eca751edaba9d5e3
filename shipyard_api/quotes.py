"""What a peer says, as it may be repeated: without the secrets that are between the peer and us (product, chapter 12).

Peers quote what they were sent, headers and addresses included. Every text of theirs that is shown, stored or logged
goes through here, before it is cut to a length. What is only worked with does not: names of nodes, states, references.
"""

import base64
import json
import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from shipyard_api.ports.provisioner import JobReport

HIDDEN = "***"
LONGEST = 64 * 1024  # characters of one text of a peer; nobody reads more
SHORTEST = 4  # characters; shorter secrets protect nothing, and would make holes in every text
DEEPEST = 100  # levels of a value; what lies deeper is left out
MOST_PASSING = 16  # tokens that come and go: the latest ones are remembered

# Neither ends a user or a password: `@` may stand in both.
_USER = re.compile(r"//[^\s/?#]*@")
# The same in JSON that is not read, where a text ends at its quotation mark.
_USER_IN_JSON = re.compile(r'//(?:(?:\\.|[^/@\s"\\])*@)+')
_ADDRESS = re.compile(r"//([^\s/?#]*)@")


class Quotes:
    """Takes secrets out of the texts of one peer; may be shared by threads.

    ``secrets``: what of ours the peer was told, and could quote. Tokens that come and go are learnt on the way.
    """

    def __init__(self, *secrets: str) -> None:
        self._lock = threading.Lock()
        self._own: frozenset[str] = frozenset()
        self._passing: tuple[str, ...] = ()
        self._forms: tuple[str, ...] = ()
        self.hide(*secrets)

    def hide(self, *secrets: str) -> None:
        """Hide these, too, in every form in which a peer could quote them."""
        with self._lock:
            self._own |= frozenset(secrets)
            self._remember()

    def hide_address(self, address: str) -> None:
        """Hide what proves in an address who asks: its password, or its user where that stands alone."""
        if (found := _ADDRESS.search(address)) is None:
            return
        user, colon, password = found[1].partition(":")
        basic = f"{unquote(user)}:{unquote(password)}".encode()
        self.hide(password if colon else user, base64.b64encode(basic).decode())

    def hide_passing(self, secret: str) -> None:
        """Hide a token that is in use now, and will be another one some day."""
        if secret in self._passing or secret in self._own:
            return
        with self._lock:
            self._passing = (*self._passing, secret)[-MOST_PASSING:]
            self._remember()

    def __call__(self, text: str, longest: int = LONGEST) -> str:
        """Return a text as it may be repeated, at most so many characters of it."""
        from shipyard_api.logs import redacted  # a command has no peers to quote, and starts sooner without

        text = self._without_own(text)
        if len(text) > LONGEST:
            # What is cut through can no longer be told for what it is.
            text = text[:LONGEST].rpartition(" ")[0]
        return redacted(without_users(text))[:longest]

    def line(self, text: str, longest: int) -> str:
        """Return a text in one line."""
        return " ".join(self(text).split())[:longest]

    def values(self, value: Any, *, depth: int = DEEPEST) -> Any:
        """Return a JSON value that is there to be read by people, with every text in it as it may be repeated."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict | list) and not depth:
            return HIDDEN
        if isinstance(value, dict):
            return {key: self.values(item, depth=depth - 1) for key, item in value.items()}
        return [self.values(item, depth=depth - 1) for item in value] if isinstance(value, list) else value

    def json(self, text: str) -> str:
        """Return unread JSON of any size without our secrets, and without users and passwords of addresses.

        What only looks like a secret stays: to take that out would take the quotation mark behind it along.
        """
        return _USER_IN_JSON.sub(f"//{HIDDEN}@", self._without_own(text))

    def report(self, report: JobReport) -> JobReport:
        """Return a report with its reasons and its message as they may be repeated."""
        reasons = {node: self(why) for node, why in report.reasons.items()}
        return replace(report, reasons=reasons, message=self(report.message))

    def _without_own(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def _remember(self) -> None:
        forms = _forms({*self._own, *self._passing})
        # The longest first: one secret may be the beginning of another.
        self._forms = tuple(sorted(forms, key=len, reverse=True))


def without_users(text: str) -> str:
    """Return a text without the users and passwords of the addresses in it."""
    return _USER.sub(f"//{HIDDEN}@", text)


def _forms(secrets: Iterable[str]) -> set[str]:
    """Return the secrets as they are, and as addresses, JSON and Python write them."""
    plain = {form for secret in secrets for form in (secret, unquote(secret))}
    written = {
        form for one in plain for form in (one, quote(one), quote(one, safe=""), json.dumps(one)[1:-1], repr(one)[1:-1])
    }
    return {form for form in written if len(form) >= SHORTEST}
