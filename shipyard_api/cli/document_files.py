"""The files of a load: found without leaving one out, and joined into one YAML stream.

A load replaces a whole collection, so what is passed over here is deleted by the next commit.
"""

import io
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

_SUFFIXES = (".yaml", ".yml")
_PLACE = re.compile(r"line (\d{1,9}), column \d{1,9}(?: \(document (\d{1,9})\))?")  # as a server tells it
_PLACES = 5  # that are told; who has more faults mends those first
_DEPTH = 1_000  # levels; libyaml's composer recurses in C, where 200,000 of them kill the process


def chosen(filenames: Sequence[str], directories: Sequence[str], *, recurse: bool) -> list[Path]:
    """Return the files to load: those given, or all YAML files of the directories, sorted by directory.

    What cannot be looked at is a usage error that names it.
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
    found = [path for directory in directories for path in _within(Path(directory), recurse=recurse)]
    if not found:
        raise click.UsageError(
            "The directory does not contain any YAML files. Please enter one or more YAML files or a directory that "
            "contains one or more YAML files."
        )
    return found


def _within(top: Path, *, recurse: bool) -> list[Path]:
    """Return the YAML files of a directory. Links are followed; a directory that is met again is read only once."""
    found, folders, met = [], [top], set()
    path = top
    try:
        while folders:
            path = folder = folders.pop(0)
            known = folder.stat()
            if (known.st_dev, known.st_ino) in met:
                continue
            met.add((known.st_dev, known.st_ino))
            for path in sorted(folder.iterdir()):
                named = path.name.endswith(_SUFFIXES)
                if not (named or recurse):
                    continue
                try:
                    mode = path.stat().st_mode
                except FileNotFoundError:
                    if named:
                        raise
                    continue  # a link that leads nowhere, with a name that is none of ours
                if stat.S_ISDIR(mode):
                    folders += [path] if recurse else []
                elif named:
                    found.append(path)
    except OSError as error:
        raise click.UsageError(
            f"The directory {top} cannot be read as a whole: {path}: {error.strerror}. Nothing was sent, since "
            "documents that are left out of a load are deleted by the next commit."
        ) from error
    return sorted(found)


class Part(NamedTuple):
    """Where a file's text stands in a stream: its lines and its documents, both from 1 and up to the last one."""

    path: Path
    lines: range
    documents: range


class Stream(NamedTuple):
    """The documents of several files as one YAML stream; ``parts`` in the order of the stream."""

    body: bytes
    parts: Sequence[Part]


def joined(files: Iterable[Path]) -> Stream:
    """Return the files as one stream, comments and all; files without any document are left out.

    A file that is not YAML, or files that have no document at all, are a usage error.
    """
    texts: list[str] = []
    parts: list[Part] = []
    line = document = 1
    for path in files:
        text, explicit = _checked(path)
        if not explicit:
            continue
        if texts:
            # A stream may go on after "...", but only with a document that says where it starts.
            texts.append("...\n" if explicit[0] else "...\n---\n")
            line += texts[-1].count("\n")
        texts.append(text if text.endswith("\n") else f"{text}\n")
        lines = range(line, line + texts[-1].count("\n"))
        parts.append(Part(path, lines, range(document, document + len(explicit))))
        line, document = lines.stop, document + len(explicit)
    if not parts:
        raise click.UsageError("There is no document in these files. To load none, use --empty-collection.")
    return Stream("".join(texts).encode(), parts)


def places(stream: Stream, text: str) -> list[str]:
    """Return where in the files the places of the stream are that a text names; the first of each document, a few."""
    found: dict[int, str] = {}
    for line, document in ((int(one), int(other or 0)) for one, other in _PLACE.findall(text)):
        part = next((part for part in stream.parts if line in part.lines), None)
        if part is None or document in found:
            continue
        called = f"line {line} (document {document})" if document else f"line {line}"
        found[document if document else -line] = f"{called} is line {line - part.lines.start + 1} of {part.path}"
    told = list(found.values())
    more = [f"and {len(told) - _PLACES} more"] if len(told) > _PLACES else []
    return told[:_PLACES] + more


def read_documents(files: Iterable[Path]) -> bytes:
    """Return the files as one stream; errors as in ``joined``."""
    return joined(files).body


class _Named(io.StringIO):
    """A text that YAML's messages call by the name of its file."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def _checked(path: Path) -> tuple[str, list[bool]]:
    """Return the text of a file, and for each of its documents whether it says where it starts."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_text("utf-8-sig")
        explicit = _counted(yaml.parse(_Named(text, str(path)), loader))
        for _ in yaml.load_all(_Named(text, str(path)), loader):
            pass
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        raise click.UsageError(f"YAML file {path} is invalid because {error}") from error
    return text, explicit


def _counted(events: Iterable[Any]) -> list[bool]:
    """Return for each document whether it says where it starts. Raises ValueError for what is too deep to be loaded."""
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
