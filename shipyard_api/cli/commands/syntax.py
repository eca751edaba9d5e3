"""How command lines are read and explained: ids, items as tables print them, examples below a help text."""

from collections.abc import Callable, Mapping, Sequence

import click

_ID_LENGTH = 26

Item = Callable[..., Sequence[str]]
"""Turns the parts of an item behind its first word into the arguments of the command of that name."""


def examples(*lines: str) -> str:
    """Return the text below a help text that shows whole command lines."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def check_id(given: str | None, *, kind: str = "action") -> str:
    """Return the id. A text that cannot be one is a usage error: it never reaches the server."""
    if given is None:
        raise click.UsageError(f"Invalid ID. None is not a valid {kind} ID.")
    if len(given) != _ID_LENGTH:
        raise click.UsageError("Invalid ID. ID can only be 26 characters.")
    if not (given.isascii() and given.isalnum()):
        raise click.UsageError("Invalid ID. ID can only contain letters and numbers.")
    return given


def check_action(given: str | None) -> str:
    """Return the id of an action, which may be given as tables print it: ``action/ID``. Errors as in ``check_id``."""
    return check_id(given if given is None else given.removeprefix("action/"))


class Items(click.Group):
    """A group that also takes items as the tables print them, such as ``action/ID``, instead of a command or behind it.

    ``items``: by first word, the forms there are, each as people read it and what it means.
    """

    items: Mapping[str, Sequence[tuple[str, Item]]] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Turn an item of a table into the command that it is for."""
        behind = args[0] in self.items and args[1:] and args[1].startswith(f"{args[0]}/")
        if found := self._command_of(args[1:] if behind else args):
            return super().resolve_command(ctx, found)
        if not (args[0] in self.commands or args[0].startswith("-") or ctx.resilient_parsing):
            raise click.UsageError(
                "\n".join(
                    [
                        "Invalid namespace item. Please utilize one of the following formats for the namespace item.",
                        *(f"{name}: {told}" for name, forms in self.items.items() for told, _ in forms),
                    ]
                ),
                ctx,
            )
        return super().resolve_command(ctx, args)

    def _command_of(self, args: list[str]) -> list[str] | None:
        """Return the words of the command that an item is for, and what follows it; None if it is no item."""
        word, *parts = args[0].split("/")
        for told, form in self.items.get(word, ()):
            if told.count("/") == len(parts) and all(parts):
                return [word, *form(*parts), *args[1:]]
        return None
