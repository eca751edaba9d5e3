"""Remove our secrets from the texts of a peer (product, section 12).

Peers echo what they receive, headers and addresses included. Every text of a peer that is shown, stored or logged is
scrubbed before it is cut to a length. Values that are only used internally (node names, states, references) are not.
"""

import base64
import json
import re
import threading
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from msgspec.structs import replace

from shipyard_api.domain.exact_secrets import HIDDEN, without_secrets
from shipyard_api.ports.provisioner import JobReport

LONGEST = 64 * 1024  # characters of one text of a peer
SHORTEST = 4  # characters; shorter secrets protect nothing, and would make holes in every text
DEEPEST = 100  # levels of a value; deeper levels are left out
MOST_PASSING = 16  # short-lived tokens; the latest ones are remembered

# Neither ends a user or a password: both may contain `@`.
_USER = re.compile(r"//[^\s/?#]*@")
# The same in JSON that is not read, where a text ends at its quotation mark.
_USER_IN_JSON = re.compile(r'//(?:(?:\\.|[^/@\s"\\])*@)+')
_ADDRESS = re.compile(r"//([^\s/?#]*)@")


class Scrubber:
    """Removes secrets from the texts of one peer; thread-safe.

    ``secrets``: the credentials that we send to the peer. Short-lived tokens are added as they are used.
    """

    def __init__(self, *secrets: str) -> None:
        self._lock = threading.Lock()
        self._own: frozenset[str] = frozenset()
        self._passing: tuple[str, ...] = ()
        self._forms: frozenset[str] = frozenset()
        self.hide(*secrets)

    def hide(self, *secrets: str) -> None:
        """Hide these secrets too, in every form in which a peer could repeat them."""
        with self._lock:
            self._own |= frozenset(secrets)
            self._remember()

    def hide_address(self, address: str) -> None:
        """Hide the credential in an address: its password, or its user where there is no password."""
        if (match := _ADDRESS.search(address)) is None:
            return
        user, colon, password = match[1].partition(":")
        basic = f"{unquote(user)}:{unquote(password)}".encode()
        self.hide(password if colon else user, base64.b64encode(basic).decode())

    def hide_passing(self, secret: str) -> None:
        """Hide a short-lived token."""
        if secret in self._passing or secret in self._own:
            return
        with self._lock:
            self._passing = (*self._passing, secret)[-MOST_PASSING:]
            self._remember()

    def __call__(self, text: str, longest: int = LONGEST) -> str:
        """Return the scrubbed text, at most ``longest`` characters of it."""
        from shipyard_api.observing.logs import redacted  # imported here: the command line starts sooner without it

        text = without_secrets(text, self._forms)
        if len(text) > LONGEST:
            # A secret that is cut in two would no longer be recognised.
            text = text[:LONGEST].rpartition(" ")[0]
        return redacted(without_users(text))[:longest]

    def line(self, text: str, longest: int) -> str:
        """Return the scrubbed text on one line."""
        return " ".join(self(text).split())[:longest]

    def values(self, value: Any, *, depth: int = DEEPEST) -> Any:
        """Return a JSON value that people read, with every text in it scrubbed."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict | list) and not depth:
            return HIDDEN
        if isinstance(value, dict):
            return {key: self.values(item, depth=depth - 1) for key, item in value.items()}
        return [self.values(item, depth=depth - 1) for item in value] if isinstance(value, list) else value

    def json(self, text: str) -> str:
        """Return unparsed JSON of any size without our secrets, and without credentials in addresses.

        Text that only looks like a secret stays: removing it would remove the closing quotation mark as well.
        """
        return _USER_IN_JSON.sub(f"//{HIDDEN}@", without_secrets(text, self._forms))

    def report(self, report: JobReport) -> JobReport:
        """Return the report with its reasons, its message and the job ahead scrubbed."""
        reasons = {node: self(why) for node, why in report.reasons.items()}
        ahead = report.ahead and replace(report.ahead, whose=self(report.ahead.whose), does=self(report.ahead.does))
        return replace(report, reasons=reasons, message=self(report.message), ahead=ahead)

    def _remember(self) -> None:
        self._forms = frozenset(forms({*self._own, *self._passing}))


def without_users(text: str) -> str:
    """Return the text without the credentials of the addresses in it."""
    return _USER.sub(f"//{HIDDEN}@", text)


def forms(secrets: Iterable[str]) -> set[str]:
    """Return the secrets verbatim and as URLs, JSON and Python escape them."""
    plain = {form for secret in secrets for form in (secret, unquote(secret))}
    written = {
        form
        for secret in plain
        for form in (secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1])
    }
    return {form for form in written if len(form) >= SHORTEST}
