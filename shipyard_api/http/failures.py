"""Failures below HTTP and refusals: what they mean for the caller; lines for people quote no address in full.

The libraries are imported where they are needed: the command line starts sooner without them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from errno import ETIMEDOUT
from pathlib import Path
from traceback import walk_tb
from typing import NamedTuple
from urllib.parse import urlsplit

from shipyard_api.ports.errors import PeerError

_OF_EVERY_REQUEST = frozenset({401, 403, 404, 405, 406, 407})
_LONGEST_PAUSE = 86_400.0  # seconds of Retry-After

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"})  # OpenSSL's errors for an answer in plain text
_PLAIN = "without TLS an address begins with http://"
_NO_HANDSHAKE = f"it is restarting or overloaded, or speaks no TLS; {_PLAIN}"


class ConnectionFailure(NamedTuple):
    """A failure below HTTP. ``lasting``: an immediate retry is useless; ``sent``: the peer may have the request."""

    detail: str
    lasting: bool = False
    sent: bool = True


def describe_failure(
    error: BaseException, url: str, *, connect: float, read: float, ca_file: str = ""
) -> ConnectionFailure:
    """Describe an error below HTTP, of ours or of requests; the libraries' texts quote whole URLs, and each other.

    ``connect``, ``read``: timeouts for the peer at ``url`` in seconds; ``ca_file`` as for ``HttpClient``.
    """
    import ssl

    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError

    from shipyard_api.http.deadline import DEAD_SECONDS

    parts = urlsplit(url)
    where, inner, early = parts.netloc, _innermost(error), _while_connecting(error)
    if ca_file and parts.scheme == "https" and not Path(ca_file).exists():
        return ConnectionFailure(f"the file of trusted certificates {ca_file} does not exist", lasting=True, sent=False)
    if isinstance(inner, ValueError) and not isinstance(inner, ssl.SSLError):
        return ConnectionFailure(f"{where} is not a valid address", lasting=True, sent=False)
    if isinstance(inner, ConnectTimeoutError) and not isinstance(inner, NewConnectionError):
        return ConnectionFailure(f"no connection to {where} within {connect:g} s", lasting=True, sent=False)
    if not early and not isinstance(inner, NewConnectionError) and _died(error):
        return ConnectionFailure(f"the connection to {where} is dead: nothing was acknowledged for {DEAD_SECONDS} s")
    if isinstance(inner, ReadTimeoutError | TimeoutError):
        if early:
            detail = f"no TLS handshake with {where} within {connect:g} s: {_NO_HANDSHAKE}"
            return ConnectionFailure(detail, lasting=True, sent=False)
        return ConnectionFailure(f"no answer from {where} within {read:g} s", lasting=True)
    if isinstance(inner, NewConnectionError):
        return ConnectionFailure(f"no connection to {where}: {getattr(inner.__cause__, 'strerror', '')}", sent=False)
    ended = isinstance(inner, ssl.SSLEOFError | ssl.SSLZeroReturnError)  # which one, depends on the release of Python
    if isinstance(inner, ssl.SSLError) and not (early and ended):
        hint = f"; {_PLAIN}" if getattr(inner, "reason", "") in _NO_TLS else ""
        return ConnectionFailure(f"no trusted connection to {where}: {inner}{hint}", sent=not early)
    if early:
        how = "EOF" if ended else type(inner).__name__
        detail = f"{where} hung up in the TLS handshake ({how}): {_NO_HANDSHAKE}"
        return ConnectionFailure(detail, sent=False)
    return ConnectionFailure(f"the answer of {where} was cut short or broken ({type(inner).__name__})")


def hung_up(error: PeerError) -> bool:
    """Return whether the peer hung up or did not answer in HTTP, as a peer does that expects TLS."""
    from http.client import BadStatusLine

    ended = (BadStatusLine, ConnectionResetError)
    return error.__cause__ is not None and isinstance(_innermost(error.__cause__), ended)


def silent(error: PeerError) -> bool:
    """Return whether the peer took the connection and then did not answer in time, or not completely."""
    from urllib3.exceptions import ReadTimeoutError

    cause = error.__cause__
    return cause is not None and isinstance(_innermost(cause), TimeoutError | ReadTimeoutError)


def _died(error: BaseException | None) -> bool:
    """Return whether the kernel gave the connection up. The libraries take that for a timeout of theirs."""
    return error is not None and (getattr(error, "errno", None) == ETIMEDOUT or _died(error.__context__))


def _innermost(error: BaseException) -> BaseException:
    """Return the original error, which the libraries wrap in ``args`` and ``reason``."""
    for inner in (getattr(error, "reason", None), *error.args):
        if isinstance(inner, BaseException):
            return _innermost(inner)
    return error


def _while_connecting(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, was raised in ``connect``, which includes TLS: nothing was sent."""
    if error is None:
        return False
    if any(frame.f_code.co_name == "connect" for frame, _ in walk_tb(error.__traceback__)):
        return True
    wrapped = (getattr(error, "reason", None), *error.args)
    behind = [inner for inner in wrapped if isinstance(inner, BaseException)]
    return any(map(_while_connecting, [*behind, error.__cause__ or error.__context__]))


def refuses_us(status: int) -> bool:
    """Return whether a refusal is due to our credentials or our address, and not to the contents of the request."""
    return 300 <= status < 400 or status in _OF_EVERY_REQUEST


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return the seconds of Retry-After (a number or a date), a day at most, or None without a valid one."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), _LONGEST_PAUSE)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max(0.0, (when - now).total_seconds()), _LONGEST_PAUSE)
