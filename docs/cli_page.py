"""The commands of `shipyard` as the page docs/reference/cli.md and as man pages."""

import inspect
from collections.abc import Iterator

import click

from shipyard_api.cli.main import shipyard

Words = tuple[str, ...]


def cli_page() -> list[str]:
    """Return the lines of docs/reference/cli.md."""
    lines = [
        "# Command line\n",
        "See also [Use the command line](../howto/command-line.md).",
        "",
        "`shipyard` is a client of the REST API. `demo`, `up`, `serve`, `worker`, `db`, `token` and `simulate` start",
        "programs on this machine instead. Exit codes: 0 success; 1 an error of the API, no connection, or a failed",
        "action; 2 an invalid command line or invalid settings.",
        "",
        "## Options before the command\n",
        *_table(shipyard),
    ]
    for words, command in commands():
        lines += [f"\n## {' '.join(words)}\n", f"`{_usage(words, command)}`\n", _sentences(command)]
        options = _table(command)
        lines += ["", *options] if options else []
        if command.epilog:
            lines += ["", "```text", *_examples(command), "```"]
    return lines


def man_pages(version: str, day: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each man page: one of `shipyard`, and one of each command."""
    names = [f"shipyard-{'-'.join(words)}" for words, _ in commands()]
    head = _head("shipyard", "take a bare-metal site from documents to running servers", version, day)
    body = [
        ".SH SYNOPSIS",
        ".B shipyard",
        "[OPTIONS] COMMAND [ARGUMENTS]",
        ".SH DESCRIPTION",
        _roff(_sentences(shipyard)),
    ]
    yield "shipyard.1", _page([*head, *body, *_paragraphs(shipyard), ".SH SEE ALSO", *_see(names)])
    for name, (words, command) in zip(names, commands(), strict=True):
        sentences = _sentences(command)
        purpose = command.get_short_help_str(limit=1000).rstrip(".")
        lines = [*_head(name, purpose, version, day), ".SH SYNOPSIS", _roff(_usage(words, command)), ".SH DESCRIPTION"]
        lines += [_roff(sentences), *_paragraphs(command)]
        if command.epilog:
            lines += [".SH EXAMPLES", ".nf", *map(_roff, _examples(command)), ".fi"]
        yield f"{name}.1", _page([*lines, ".SH SEE ALSO", *_see(["shipyard"])])


def commands(group: click.Group = shipyard, words: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Yield each command that is no group with its words, in the order of the alphabet."""
    for name in sorted(group.commands):
        command = group.commands[name]
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


def _usage(words: Words, command: click.Command) -> str:
    """Return the usage line; only lists are optional."""
    shown = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            name = parameter.metavar or (parameter.name or "").upper()
            shown.append(f"[{name}]..." if parameter.nargs == -1 else name)
    return " ".join(["shipyard", *words, *shown])


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the flags and the meaning of each option."""
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        flags = ", ".join([*option.opts, *option.secondary_opts])
        if not option.is_flag:
            kind = option.type.name.upper().removesuffix(" RANGE")
            if isinstance(option.type, click.Choice):
                kind = "/".join(map(str, option.type.choices))
            flags += f" {option.metavar or kind}"
        text = option.help or ""
        if option.show_default and not option.is_flag:
            text += _default(option)
        if option.show_envvar and option.envvar:
            text += f" Environment: {option.envvar}."
        yield flags, text.strip()


def _default(option: click.Option) -> str:
    default = option.show_default if isinstance(option.show_default, str) else option.default
    if default in (None, ""):
        return ""
    if isinstance(default, (tuple, list)):
        default = ", ".join(map(str, default))
    return f" Default: {f'{default:g}' if isinstance(default, float) else default}."


def _sentences(command: click.Command) -> str:
    return " ".join(inspect.cleandoc(command.help or command.short_help or "").split())


def _examples(command: click.Command) -> list[str]:
    return [line.strip() for line in (command.epilog or "").splitlines()[2:]]


def _table(command: click.Command) -> list[str]:
    rows = ["| `{}` | {} |".format(flags, text.replace("|", "\\|")) for flags, text in _options(command)]
    return ["| option | meaning |", "|---|---|", *rows] if rows else []


def _head(name: str, purpose: str, version: str, day: str) -> list[str]:
    return [
        f'.TH "{name.upper()}" "1" "{day}" "Shipyard {version}" "Shipyard"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(purpose)}",
    ]


def _paragraphs(command: click.Command) -> Iterator[str]:
    """Yield the section of the options."""
    options = list(_options(command))
    if options:
        yield ".SH OPTIONS"
    for flags, text in options:
        yield from (".TP", f"\\fB{_roff(flags)}\\fR", _roff(text) or "\\&")


def _see(names: list[str]) -> Iterator[str]:
    for number, name in enumerate(names, 1):
        yield f".BR {_roff(name)} (1){',' if number < len(names) else ''}"


def _roff(text: str) -> str:
    """Return text in which nothing is a request or an escape of roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _page(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
