"""The syntax that commands share: ids, items as tables print them, and the examples below a help text."""

import re
from collections.abc import Callable, Mapping, Sequence

import click

from shipyard_api.cli.client import Api, Query, json_content
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output.shapes import JsonObject, as_object, as_objects, objects_at, required

_ID_LENGTH = 26

LATEST = "latest"
"""Stands for the id of the newest action on the site."""

_NODE_OPERATION, _COMMAND = "node_operation", "command"
_PAGES = (20, 1000)  # actions that are read for the newest one on the site: commands on nodes may be many

# The beginning of an action's id: ids are times first, so the shortest ones that tell anything have some characters.
_BEGINNING = re.compile(r"0[0-9A-HJKMNP-TV-Z]{3,24}")
_NAMED = 3  # ids that begin alike, in the refusal of an ambiguous one

ItemArguments = Callable[..., Sequence[str]]
"""Turns the parts of an item behind its first word into the arguments of the command of that name."""


def examples(*lines: str) -> str:
    """Return the text below a help text that shows whole command lines."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def check_id(value: str | None, *, kind: str = "action") -> str:
    """Return the id. A text that cannot be an id is a usage error and never reaches the server."""
    if value is None:
        raise click.UsageError(f"Invalid ID. None is not a valid {kind} ID.")
    if len(value) != _ID_LENGTH:
        raise click.UsageError("Invalid ID. ID can only be 26 characters.")
    if not (value.isascii() and value.isalnum()):
        raise click.UsageError("Invalid ID. ID can only contain letters and numbers.")
    return value


def is_action_id(value: str) -> bool:
    """Return whether a text has the form of an action's id, also of a short one."""
    return _is_short(value) or (len(value) == _ID_LENGTH and value.isascii() and value.isalnum())


def check_action_id(value: str | None) -> str:
    """Return the id of an action, also from the form ``action/ID`` that tables print. Errors as in ``check_id``.

    ``latest`` and the beginning of an id are looked up at the server.
    """
    return check_id(value if value is None else full_action_id(value.removeprefix("action/")))


def full_action_id(value: str) -> str:
    """Return the id that a short one stands for, and any other text unchanged. A wrong short one is a usage error."""
    options = click.get_current_context().find_object(GlobalOptions)
    if not _is_short(value) or options is None:
        return value
    from shipyard_api.cli.commands.request import fail

    try:
        api = Api(options)
        if value == LATEST:
            return newest_action(api)
        known_ids = [str(action["id"]) for action in _actions(api)]
        matches = [known_id for known_id in known_ids if known_id.startswith(value.upper())]
    except ApiError as error:
        fail(options, error)
    if not matches:
        raise click.UsageError(f"Invalid ID. ID can only be 26 characters. No action's id begins with {value}.")
    if len(matches) > 1:
        some = ", ".join(sorted(matches)[-_NAMED:])
        raise click.UsageError(f"{len(matches)} actions have an id that begins with {value}: {some}. Give more of it.")
    return matches[0]


def newest_action(api: Api, names: Sequence[str] = ()) -> str:
    """Return the id of the newest action on the site, of those with one of the names if there are any.

    Raises ApiError.
    """

    action = newest_on_site(api, names)
    if action is None:
        kind = f" {' or '.join(names)}" if names else ""
        raise ApiError(f"Error: There is no action{kind} on the site yet.")
    return str(action["id"])


def newest_plan(options: GlobalOptions) -> str:
    """Return the id of the newest stored plan; without one, it is an error of the command."""
    from shipyard_api.cli.commands.request import fail

    try:
        plans = objects_at(as_object(json_content(Api(options).get("plans")), "the body"), "plans")
        return (
            str(required(plans[0], "id")) if plans else fail(options, ApiError("Error: There is no stored plan yet."))
        )
    except ApiError as error:
        fail(options, error)


def newest_on_site(api: Api, names: Sequence[str] = ()) -> JsonObject | None:
    """Return the newest action on the site, of those with one of the names if there are any. Raises ApiError."""
    query = [*(("name", name) for name in names), ("order", "desc")]
    for limit in _PAGES:
        actions = _actions(api, [*query, ("limit", str(limit))])
        # A server of upstream returns all of them, in another order.
        if on_site := [action for action in actions if is_on_site(action)]:
            return max(on_site, key=lambda action: str(action["id"]))
        if len(actions) < limit:
            break
    return None


def is_on_site(action: "JsonObject") -> bool:
    """Return whether an action is on the site: a command or a single operation on nodes is not."""
    return action.get("name") != _NODE_OPERATION and _COMMAND not in (action.get("parameters") or {})


def _actions(api: Api, query: Query = ()) -> Sequence[JsonObject]:

    actions = as_objects(json_content(api.get("actions", query)), "the body")
    for action in actions:
        required(action, "id")
    return actions


def _is_short(value: str) -> bool:
    return value == LATEST or bool(_BEGINNING.fullmatch(value.upper()))


class ItemGroup(click.Group):
    """A group that accepts items as tables print them, such as ``action/ID``, in place of a command or behind it.

    ``items``: by first word, the forms of an item, each as text for people and as arguments of the command.
    """

    items: Mapping[str, Sequence[tuple[str, ItemArguments]]] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve an item to its command."""
        if "action" in self.items and args[0] not in self.commands and is_action_id(args[0]):
            args = [f"action/{args[0]}", *args[1:]]
        behind = args[0] in self.items and args[1:] and args[1].startswith(f"{args[0]}/")
        if resolved := self._words_of(args[1:] if behind else args):
            return super().resolve_command(ctx, resolved)
        if not (args[0] in self.commands or args[0].startswith("-") or ctx.resilient_parsing):
            raise click.UsageError(
                "\n".join(
                    [
                        "Invalid namespace item. Please utilize one of the following formats for the namespace item.",
                        *(f"{name}: {form}" for name, forms in self.items.items() for form, _ in forms),
                    ]
                ),
                ctx,
            )
        return super().resolve_command(ctx, args)

    def _words_of(self, args: list[str]) -> list[str] | None:
        """Return the words of the command for an item, and the arguments behind it; None without an item."""
        word, *parts = args[0].split("/")
        for form, arguments in self.items.get(word, ()):
            if form.count("/") == len(parts) and all(parts):
                return [word, *arguments(*parts), *args[1:]]
        return None


class ListGroup(click.Group):
    """A group of lists that also takes the word for one of them, and items as tables print them: ``action/ID``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the word for one thing to the list of such things, and an item to that list with its name."""
        word, slash, name = args[0].partition("/")
        if args[0] not in self.commands and f"{word}s" in self.commands:
            args = [f"{word}s", *([name] if slash else []), *args[1:]]
        return super().resolve_command(ctx, args)
