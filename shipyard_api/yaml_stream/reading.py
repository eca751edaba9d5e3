"""Read untrusted YAML into JSON values.

PyYAML's C loader is fast but unsafe for untrusted input: 100,000 ``[`` kill the process, duplicate keys vanish, aliases
expand without limit. So we only use its parser, which yields events one by one and can be stopped.
"""

import codecs
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import yaml

from shipyard_api.yaml_stream.faults import YamlFault, YamlFaults
from shipyard_api.yaml_stream.scan import EnoughError, Limits, Scan

if not yaml.__with_libyaml__:
    raise ImportError(
        "PyYAML was built without libyaml, which is needed to read site definitions: "
        "install PyYAML from a wheel, or build it where the headers of libyaml are"
    )

_DEFAULT = Limits()
_TAG_DIRECTIVES = 1_000
_PIECE = 16 * 1024
_NEXT = "\n---"  # what begins the next document


def read_documents(raw: bytes, limits: Limits = _DEFAULT) -> list[Any]:
    """Return the documents of a stream, in order, as JSON values with text keys; an empty document is None.

    Dates stay text. An alias becomes a copy, so that changing one place never changes another. Raises YamlFault, with
    all faults in ``faults``, and nothing else.
    """
    if len(raw) > limits.bytes_:
        raise YamlFault(f"the stream has {len(raw):,} bytes; at most {limits.bytes_:,} are read")
    raw = _checked(raw)
    _check_number(raw, limits.documents)
    scan = Scan(limits)
    parser = yaml.CSafeLoader(_Pieces(raw))
    try:
        try:
            scan.take_all(parser.get_event)
        except yaml.YAMLError as exc:
            scan.note(*_syntax_fault(exc, raw))
        except UnicodeDecodeError:
            # libyaml accepts half a character escaped in a tag (%ED%A0%80), and gives no place for it.
            mark = scan.last.end_mark if scan.last else None
            scan.note("the next tag is not UTF-8", *((mark.line + 1, mark.column + 1) if mark else (1, 1)))
    except EnoughError:
        pass
    finally:
        parser.dispose()
    if scan.faults:
        scan.hide_quotes(_secrecy(raw))
        raise scan.faults[0] if len(scan.faults) == 1 else YamlFaults(tuple(scan.faults))
    return scan.documents()


class _Pieces:
    """Gives libyaml a stream in pieces, by a function of Python: other threads get their turn between two of them.

    A text of 30 MiB is one event, which would hold them up for as long as it takes.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = memoryview(raw)
        self._place = 0

    def read(self, size: int = _PIECE, /) -> bytes:
        """Return the next bytes, none at the end."""
        begin, self._place = self._place, self._place + size
        return bytes(self._raw[begin : self._place])


def _checked(raw: bytes) -> bytes:
    """Return the stream without byte order mark; raises YamlFault if it is not UTF-8 or would break libyaml."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise YamlFault("byte 1 begins a text in UTF-16; send UTF-8", line=1, column=1)
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    raw = raw.removeprefix(mark)
    try:
        raw.decode()
    except UnicodeDecodeError as exc:
        line, column = _place_of(raw, exc.start)
        message = f"byte {len(mark) + exc.start + 1} (0x{raw[exc.start]:02x}) is not UTF-8; send UTF-8"
        raise YamlFault(message, line=line, column=column) from exc
    # libyaml reads "---" after a second mark as text, and so two documents as one.
    if codecs.BOM_UTF8 in raw and (second := re.search(rb"(?:\A|(?<=[\r\n]))" + codecs.BOM_UTF8, raw)):
        line, column = _place_of(raw, second.start())
        message = "a second byte order mark; take it out (were files joined?)"
        raise YamlFault(message, line=line, column=column)
    # libyaml compares each %TAG with all earlier ones: 32 MiB of them would take an hour.
    if raw.count(b"%TAG") > _TAG_DIRECTIVES:
        raise YamlFault(f"the stream has more than {_TAG_DIRECTIVES:,} %TAG directives; none is needed")
    return raw


def _secrecy(raw: bytes) -> Callable[[int], bool]:
    """Return a function that says whether the document at a character may be secret: it has the word "encrypted".

    That is the storage policy of secret documents. A faulty document cannot be read any closer.
    """
    text = raw.decode()

    def is_secret(index: int) -> bool:
        start, end = text.rfind(_NEXT, 0, index), text.find(_NEXT, index)
        return text.find("encrypted", max(start, 0), end if end >= 0 else len(text)) >= 0

    return is_secret


def _check_number(raw: bytes, most: int) -> None:
    """Raise YamlFault for a stream of too many documents, before any is read: these marks mean nothing else."""
    if raw.count(b"\n---") < most:
        return
    marks = re.finditer(rb"^---(?=\s|\Z)", raw, re.MULTILINE)
    if excess := next(islice(marks, most, None), None):
        line, column = _place_of(raw, excess.start())
        message = f"the stream has more than {most:,} documents"
        raise YamlFault(message, line=line, column=column, document=most)


def _syntax_fault(exc: yaml.YAMLError, raw: bytes) -> tuple[str, int, int] | tuple[str]:
    if isinstance(exc, yaml.reader.ReaderError):
        return f"the character U+{exc.character:04X} is not allowed in YAML", *_place_of(raw, exc.position)
    if not isinstance(exc, yaml.MarkedYAMLError) or exc.problem_mark is None:
        return (str(exc),)
    message = exc.problem or "this is not YAML"
    place = (exc.problem_mark.line + 1, exc.problem_mark.column + 1)
    if "cannot start any token" in message and raw.decode().startswith("\t", exc.problem_mark.index):
        return "a tab here: YAML is indented with spaces", *place
    last = _place_of(raw, len(raw.rstrip()))
    if exc.context and exc.context_mark:
        begun = f" that begins at line {exc.context_mark.line + 1}" if exc.context_mark.line < last[0] else ""
        message += f" ({exc.context}{begun})"
    if "Unicode character escape" in message:
        message += "; write the character itself, or all of it as \\U0001F600, not two halves"
    # libyaml reports an unfinished text behind its end, on a line that does not exist.
    return (f"the text ends too early: {message}", *last) if place > last else (message, *place)


def _place_of(raw: bytes, offset: int) -> tuple[int, int]:
    before = raw[:offset].decode()
    ends = "\n\r\x85\u2028\u2029"  # what libyaml counts as the end of a line
    line = 1 + sum(before.count(end) for end in ends) - before.count("\r\n")
    return line, len(before) - max(before.rfind(end) for end in ends)
