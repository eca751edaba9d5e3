"""Commands about the tasks of releases and clusters: download, upload, sync (seed 001, CLI API impact)."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from shipyard_api.cli.client import SOFTWARE, Api
from shipyard_api.cli.commands.request import read_yaml, show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import software_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.wording import printable_lines

FILE = "deployment_tasks.yaml"
"""The name of a file of tasks, below a directory named after its release or cluster, such as ``release_1``."""

_PATTERN = "*tasks.yaml"
_DIRECTORY = click.Path(file_okay=False, path_type=Path)
_ID = click.IntRange(1)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def show_software(
    options: GlobalOptions,
    request: Callable[[Api], Answer],
    *,
    expected: int = 200,
    cli: Callable[[str], str | Printout],
) -> None:
    """Make one request about task graphs, roles or tags, as ``show`` does, and print the warnings of its answer."""

    def warned(api: Api) -> Answer:
        answer = request(api)
        for warning in json.loads(answer.warnings or "[]"):
            click.echo(f"Warning: {printable_lines(str(warning))}", err=True)
        return answer

    show(options, warned, expected=expected, cli=cli, base=SOFTWARE)


def _directory(does: str) -> Callable[[_Command], _Command]:
    return click.option("--dir", "directory", type=_DIRECTORY, default=".", show_default="the current one", help=does)


def tasks_of(owner: str) -> click.Group:
    """Return the group ``tasks`` of a ``release`` or a ``cluster``."""
    path = f"{owner}s/{{}}/deployment_tasks"
    identity = click.option(
        f"--{owner}", "number", type=_ID, default=1, show_default=True, help=f"The id of the {owner}."
    )
    subject = "its own tasks" if owner == "cluster" else "its tasks"

    @click.group(
        "tasks",
        short_help=f"Download, upload or synchronize the tasks of a {owner}.",
        epilog=examples(f"shipyard {owner} tasks download", f"shipyard {owner} tasks upload --dir site"),
    )
    def tasks() -> None:
        """Read and write the task graph that the software stage runs."""

    @tasks.command(
        "download",
        short_help="Write the tasks to a file.",
        epilog=examples(f"shipyard {owner} tasks download", f"shipyard {owner} tasks download --{owner} 1 --dir site"),
    )
    @identity
    @_directory("Where the file goes.")
    @click.pass_obj
    def download(options: GlobalOptions, /, number: int, directory: Path) -> None:
        target = directory / f"{owner}_{number}" / FILE

        def write(text: str) -> str:
            import yaml

            tasks = software_tables.tasks(text)
            written = yaml.safe_dump(tasks, default_flow_style=False, sort_keys=False, allow_unicode=True)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(written, encoding="utf-8")
            except OSError as error:
                raise click.UsageError(f"{target} cannot be written: {error.strerror}.") from error
            return f"{_counted(len(tasks), 'task')} of {owner} {number}: {target}"

        show_software(options, lambda api: api.get(path.format(number)), cli=write)

    @tasks.command(
        "upload",
        short_help="Replace the tasks by those of a file.",
        epilog=examples(f"shipyard {owner} tasks upload", f"shipyard {owner} tasks upload --{owner} 1 --dir site"),
    )
    @identity
    @_directory("Where the file is.")
    @click.pass_obj
    def upload(options: GlobalOptions, /, number: int, directory: Path) -> None:
        source = directory / f"{owner}_{number}" / FILE
        _put(options, path.format(number), _read(source), f"{owner} {number}")

    @tasks.command(
        "sync",
        short_help="Replace the tasks by those of all task files in a tree.",
        epilog=examples(f"shipyard {owner} tasks sync --dir /etc/puppet/1.0"),
    )
    @identity
    @_directory("The tree.")
    @click.option("--pattern", default=_PATTERN, show_default=True, help="The names of task files.")
    @click.pass_obj
    def sync(options: GlobalOptions, /, number: int, directory: Path, pattern: str) -> None:
        files = sorted(path for path in directory.rglob(pattern) if path.is_file())
        if not files:
            raise click.UsageError(f"No file in {directory} is named {pattern}.")
        joined = [task for file in files for task in _read(file)]
        _put(options, path.format(number), joined, f"{owner} {number} from {_counted(len(files), 'file')}")

    download.help = (
        f"Write the tasks of the {owner} to DIR/{owner}_ID/{FILE}, in every output form but cli to stdout."
        + (" They are those of its release, with its own in their places." if owner == "cluster" else "")
    )
    upload.help = (
        f"Replace {subject} by those in DIR/{owner}_ID/{FILE}. Invalid tasks are refused with all their faults."
    )
    sync.help = f"Replace {subject} by those of all files below DIR whose name matches, in the order of their paths."
    return tasks


def _put(options: GlobalOptions, path: str, tasks: Sequence[Any], target: str) -> None:
    show_software(
        options,
        lambda api: api.put(path, list(tasks)),
        cli=lambda text: f"Stored for {target}: {_counted(len(software_tables.tasks(text)), 'task')}",
    )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _read(file: Path) -> list[Any]:
    content = read_yaml(file)
    if content is None:
        return []
    if not isinstance(content, list):
        raise click.UsageError(f"{file} is not a list of tasks.")
    return content
