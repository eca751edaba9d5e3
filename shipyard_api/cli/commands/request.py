"""What most commands do: make one request, print its answer, and exit with 1 unless it succeeded."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

import click

from shipyard_api.cli.client import ANSWER_TIMEOUT, API, Api
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import answers
from shipyard_api.cli.output.printing import print_output
from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.wording import printable_lines, yaml_fault


def show(
    options: GlobalOptions,
    request: Callable[[Api], answers.Answer],
    *,
    expected: int = 200,
    cli: Callable[[str], str | Printout],
    wide: Callable[[str], str | Printout] | None = None,
    kind: str = answers.JSON,
    error_notes: Callable[[answers.Answer], Iterable[str]] = lambda answer: (),
    timeout: float | None = None,
    base: str = "",
) -> None:
    """Make one request and print its answer in the chosen output form; exit with 1 unless it succeeded.

    ``wide``: what renders the answer for ``-o wide``, in place of ``cli``. ``kind``: the content of a successful
    answer, as for ``answers.rendered``. ``error_notes``: lines to add on stderr to an error. ``timeout``: seconds to
    wait for the answer, instead of the usual ones. ``base``: where paths begin, instead of the Shipyard API.
    """
    notes: list[str] = []
    output: str | Printout
    try:
        answer = request(Api(options, timeout=timeout or ANSWER_TIMEOUT, base=base or API))
        table = wide if wide and options.form == "wide" else cli
        output, good = answers.rendered(answer, options.form, expected=expected, cli=table, kind=kind)
        if not good:
            # In the other forms the output may be the body alone, which need not look like an error.
            source = answers.source_line(answer)
            notes += [source] if source not in str(output) else []
            notes += error_notes(answer)
    except ApiError as error:
        output, good = str(error), False
    print_output(output if good or isinstance(output, Printout) else Printout([output]), form=options.form)
    for note in notes:
        click.echo(printable_lines(note), err=True)
    if not good:
        raise SystemExit(1)


def fail(options: GlobalOptions, error: ApiError) -> NoReturn:
    """Print an error, as ``show`` does, and exit with 1."""
    print_output(Printout([str(error)]), form=options.form)
    raise SystemExit(1) from error


def path_segment(text: str) -> str:
    """Return the text as one segment of a path. One that would lead to another path is a usage error."""
    if text in ("", ".", ".."):
        raise click.UsageError(f"'{text}' cannot be a name on the server: give another one.")
    from shipyard_api.http import segment

    return segment(text)


def read_yaml(file: Path) -> object:
    """Return the content of a YAML file. Raises UsageError if it cannot be read, or cannot be sent as JSON."""
    import yaml

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        # What JSON cannot hold, such as a date, cannot be sent.
        json.dumps(content)
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{file} is not YAML that can be sent: {yaml_fault(error)}") from error
    return content
