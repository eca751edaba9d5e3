"""The files of a load: found completely, and joined into one YAML stream.

A load replaces a whole collection: a file that is missed here is deleted by the next commit.
"""

import io
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

_SUFFIXES = (".yaml", ".yml")
_LOCATION = re.compile(r"line (\d{1,9}), column \d{1,9}(?: \(document (\d{1,9})\))?")  # in error texts of the server
_MOST_LOCATIONS = 5  # printed; more are counted
_DEPTH = 1_000  # levels; libyaml's composer recurses in C, where 200,000 levels kill the process


def find_files(filenames: Sequence[str], directories: Sequence[str], *, recurse: bool) -> list[Path]:
    """Return the files to load: the given ones, or all YAML files of the directories, sorted by directory.

    A file or directory that cannot be read is a usage error that names it.
    """
    if bool(filenames) == bool(directories):
        raise click.UsageError(
            'Please specify one or more filenames using --filename="<filename>" OR one or more directories using '
            '--directory="<directory>"'
        )
    if filenames:
        for name in filenames:
            if not name.endswith(_SUFFIXES):
                raise click.UsageError(f"The file {name} is not a YAML file.  Please enter only YAML files.")
        return [Path(name) for name in filenames]
    for directory in directories:
        if Path(directory).is_file():
            raise click.UsageError(f"{directory} is a file, not a directory: use --filename={directory}.")
    paths = [path for directory in directories for path in _yaml_files(Path(directory), recurse=recurse)]
    if not paths:
        raise click.UsageError(
            "The directory does not contain any YAML files. Please enter one or more YAML files or a directory that "
            "contains one or more YAML files."
        )
    return paths


def _yaml_files(top: Path, *, recurse: bool) -> list[Path]:
    """Return the YAML files of a directory. Links are followed; each directory is read once."""
    paths, folders, seen = [], [top], set()
    path = top
    try:
        while folders:
            path = folder = folders.pop(0)
            known = folder.stat()
            if (known.st_dev, known.st_ino) in seen:
                continue
            seen.add((known.st_dev, known.st_ino))
            for path in sorted(folder.iterdir()):
                is_yaml = path.name.endswith(_SUFFIXES)
                if not (is_yaml or recurse):
                    continue
                try:
                    mode = path.stat().st_mode
                except FileNotFoundError:
                    if is_yaml:
                        raise
                    continue  # a broken link that is not a YAML file
                if stat.S_ISDIR(mode):
                    folders += [path] if recurse else []
                elif is_yaml:
                    paths.append(path)
    except OSError as error:
        raise click.UsageError(
            f"The directory {top} cannot be read as a whole: {path}: {error.strerror}. Nothing was sent: "
            "the next commit deletes documents that a load leaves out."
        ) from error
    return sorted(paths)


class FilePart(NamedTuple):
    """A file's lines and documents in a stream, both numbered from 1."""

    path: Path
    lines: range
    documents: range


class DocumentStream(NamedTuple):
    """The documents of several files as one YAML stream; ``parts`` in the order of the stream."""

    body: bytes
    parts: Sequence[FilePart]


def join_files(files: Iterable[Path]) -> DocumentStream:
    """Return the files as one stream, with their comments; files without a document are left out.

    A file that is not YAML is a usage error, and so are files without any document.
    """
    texts: list[str] = []
    parts: list[FilePart] = []
    line = document = 1
    for path in files:
        text, explicit = _read_checked(path)
        if not explicit:
            continue
        if texts:
            # After "..." a stream continues only with an explicit document start.
            texts.append("...\n" if explicit[0] else "...\n---\n")
            line += texts[-1].count("\n")
        texts.append(text if text.endswith("\n") else f"{text}\n")
        lines = range(line, line + texts[-1].count("\n"))
        parts.append(FilePart(path, lines, range(document, document + len(explicit))))
        line, document = lines.stop, document + len(explicit)
    if not parts:
        raise click.UsageError("There is no document in these files. To load none, use --empty-collection.")
    return DocumentStream("".join(texts).encode(), parts)


def locate(stream: DocumentStream, text: str) -> list[str]:
    """Return the lines of files for the locations in the stream that a text names, one per document, a few at most."""
    lines_of: dict[int, str] = {}
    for line, document in ((int(number), int(other or 0)) for number, other in _LOCATION.findall(text)):
        part = next((part for part in stream.parts if line in part.lines), None)
        if part is None or document in lines_of:
            continue
        name = f"line {line} (document {document})" if document else f"line {line}"
        lines_of[document if document else -line] = f"{name} is line {line - part.lines.start + 1} of {part.path}"
    lines = list(lines_of.values())
    omitted = [f"and {len(lines) - _MOST_LOCATIONS} more"] if len(lines) > _MOST_LOCATIONS else []
    return lines[:_MOST_LOCATIONS] + omitted


def read_documents(files: Iterable[Path]) -> bytes:
    """Return the files as one stream; errors as in ``join_files``."""
    return join_files(files).body


class _NamedText(io.StringIO):
    """A text with the file name that YAML's messages use."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def _read_checked(path: Path) -> tuple[str, list[bool]]:
    """Return the text of a file, and for each of its documents whether it has an explicit start."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_text("utf-8-sig")
        explicit = _explicit_starts(yaml.parse(_NamedText(text, str(path)), loader))
        for _ in yaml.load_all(_NamedText(text, str(path)), loader):
            pass
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        raise click.UsageError(f"YAML file {path} is invalid because {error}") from error
    return text, explicit


def _explicit_starts(events: Iterable[Any]) -> list[bool]:
    """Return for each document whether it has an explicit start. Raises ValueError for too deep nesting."""
    import yaml

    explicit, depth = [], 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            explicit.append(bool(event.explicit))
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH:
                place = f", at line {event.start_mark.line + 1}" if event.start_mark else ""
                raise ValueError(f"it is nested deeper than {_DEPTH:,} levels{place}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return explicit
