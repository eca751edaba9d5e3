"""Ironic's errors, in its two formats. Each format is a JSON string inside of JSON."""

import json
from http import HTTPStatus
from typing import Any


class IronicError(Exception):
    """A rejected request: a status and a text for the caller."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text

    def body(self) -> dict[str, Any]:
        """Return the body of an error from a handler."""
        return handler_error(self.status, self.text)


class Unrouted(IronicError):
    """A request rejected before a handler ran, such as that of an unsupported version."""

    def body(self) -> dict[str, Any]:
        """Return the body of an error from routing or from the version check."""
        return routing_error(self.status, HTTPStatus(self.status).phrase, self.text)


def handler_error(status: int, text: str) -> dict[str, Any]:
    """Return the body of an error from a handler."""
    side = "Client" if status < 500 else "Server"
    return {"error_message": json.dumps({"faultcode": side, "faultstring": text, "debuginfo": None})}


def routing_error(status: int, title: str, text: str) -> dict[str, Any]:
    """Return the body of an error that occurred before a handler was found."""
    return {"error_message": json.dumps({"code": status, "title": title, "description": text})}


def invalid(text: str) -> IronicError:
    """Return a 400."""
    return IronicError(400, text)


def node_not_found(ident: str) -> IronicError:
    """Return the 404 of an unknown node."""
    return IronicError(404, f"Node {ident} could not be found.")


def node_locked(node: str, host: str) -> IronicError:
    """Return the 409 of a node that a conductor has locked."""
    return IronicError(
        409, f"Node {node} is locked by host {host}, please retry after the current operation is completed."
    )


def in_transition(node: str) -> IronicError:
    """Return the 409 of a change to a node in transition."""
    return IronicError(409, f"Node {node} can not be updated while a state transition is in progress.")


def not_in_this_state(verb: str, node: str, state: str) -> IronicError:
    """Return the 400 of a verb that is not allowed in the node's state."""
    return invalid(
        f'The requested action "{verb}" can not be performed on node "{node}" while it is in state "{state}".'
    )


def no_free_workers() -> IronicError:
    """Return the 503 of a conductor without a free thread."""
    return IronicError(503, "Requested action cannot be performed due to lack of free conductor workers.")


def too_many_at_once(kind: str) -> IronicError:
    """Return the 503 of a conductor that runs the maximum number of operations."""
    return IronicError(
        503,
        f"Unable to process request at this time. The concurrent action limit for {kind} has been reached. "
        "Please contact your administrator and try again later.",
    )


def above_version(needed: int | None = None) -> IronicError:
    """Return the 406 of a field, verb or path that a later version introduced, which only some texts name."""
    hint = "" if needed is None else f" The minimal required API version should be 1.{needed}"
    return IronicError(406, f"Request not acceptable.{hint}")


def unexpected_arguments(names: list[str]) -> IronicError:
    """Return the 400 of unknown parameters or members."""
    return invalid(f"Unexpected arguments: {', '.join(names)}")


def in_maintenance(node: str) -> IronicError:
    """Return the 400 of deploying a node in maintenance."""
    return invalid(f"The provisioning operation can't be performed on node {node} because it's in maintenance mode.")


def protected(node: str) -> IronicError:
    """Return the 403 of undeploying a protected node."""
    return IronicError(403, f"Node {node} is protected and cannot be undeployed, rebuilt or deleted")


def duplicate_steps(keys: list[tuple[str, str]]) -> IronicError:
    """Return the 400 of a template or a runbook with a step (interface, name) that is there twice."""
    twice = sorted({key for key in keys if keys.count(key) > 1})
    named = "; ".join(f"interface: {interface}, step: {step}" for interface, step in twice)
    return invalid(
        "Deploy template invalid: Duplicate deploy steps. A template cannot have multiple deploy steps with the same "
        f"interface and step. Duplicates: {named}."
    )
