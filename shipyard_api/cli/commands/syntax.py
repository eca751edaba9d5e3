"""The syntax that commands share: ids, items as tables print them, and the examples below a help text."""

from collections.abc import Callable, Mapping, Sequence

import click

_ID_LENGTH = 26

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
    """Return whether a text has the form of an action's id."""
    return len(value) == _ID_LENGTH and value.isascii() and value.isalnum()


def check_action_id(value: str | None) -> str:
    """Return the id of an action, also from the form ``action/ID`` that tables print. Errors as in ``check_id``."""
    return check_id(value if value is None else value.removeprefix("action/"))


class ItemGroup(click.Group):
    """A group that accepts items as tables print them, such as ``action/ID``, in place of a command or behind it.

    ``items``: by first word, the forms of an item, each as text for people and as arguments of the command.
    """

    items: Mapping[str, Sequence[tuple[str, ItemArguments]]] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve an item to its command."""
        behind = args[0] in self.items and args[1:] and args[1].startswith(f"{args[0]}/")
        if found := self._words_of(args[1:] if behind else args):
            return super().resolve_command(ctx, found)
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
