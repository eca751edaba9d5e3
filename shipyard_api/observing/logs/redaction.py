"""Removing secrets from texts of callers and peers, by patterns.

Callers choose the texts that are searched here, so the time must be proportional to their length.
Therefore what repeats here is possessive (``++``), is bounded, or cannot begin within a repetition of its own
(``(?<!…)``); and an unfinished value is hidden to its end, so that no text is read twice.
"""

import re
from urllib.parse import unquote_plus

from shipyard_api.domain.exact_secrets import HIDDEN

# Names of secrets without blanks, of headers, and of all other secrets. Text before
# such a word in a name does not matter; text after it does: a `token_id` is no secret.
_OF_A_WORD = r"tokens?|api[ _-]?keys?|(?<=[_-])signature"
_OF_A_HEADER = r"authorization|cookies?"
_OF_WORDS = r"""
      passw(?:or)?ds? | passphrases? | pwds? | credentials?
    | secrets?(?:[ _-]?(?:access[ _-]?)?keys?)?
    | (?:access|client|encryption|private|signing)[ _-]?keys?(?:[_-]data)?
    | (?<=[_-])pass | (?-i:(?<=[a-z])Pass) | \bpass(?==|\\*+["'])
    | header[ ]value
"""
_FLAGS = re.IGNORECASE | re.VERBOSE
_SECRET_NAME = re.compile(rf"(?:{_OF_A_WORD}|{_OF_A_HEADER}|{_OF_WORDS})\W*+\Z", _FLAGS)
# `X-Auth-Token: a`, `"password": "a b"`, `headers['Cookie'] = a`, `?token=a&b=c`, `(b'Authorization', b'Basic a')`.
_NAMED = re.compile(
    rf"""
    (?:(?P<word>{_OF_A_WORD})|(?P<header>{_OF_A_HEADER})|{_OF_WORDS})
    (?:\\*+["'`]\]?)?[ \t]*+(?:=>|:=|(?P<equals>={{1,3}})|:)
    | (?P<pair>(?:authorization|-token|cookie)\\*+["'],)
    """,
    _FLAGS,
)
# How many there are: `pass=12 fail=0`, `tokens: 128`. No secret is that short, and none of a `db_pass` is shown.
_COUNTED = re.compile(r"(?<![\w-])(?:pass|\w{0,40}s)[=:]\Z", re.IGNORECASE)
_COUNT = re.compile(r"\d{1,3}+(?=[ \t]*+(?:\Z|[\r\n,;]|[\w.-]++=))")
_VALUE = re.compile(
    r"""
    [ \t]*+
    (?:
        (?P<hidden>\*\*\*(?!\w))
      | [bfru]{0,2}+(?P<slashes>\\*+)(?P<quote>["'])
      | (?P<bracket>[\[({])
      | (?P<scheme>(?:basic|bearer|digest|negotiate|oauth|token)[ \t]++)
    )?
    """,
    _FLAGS,
)
# Where a value without quotes may end.
_QUOTE = r"(?<!\\)(?P<slashes>\\*+)(?P<quote>[\"'])"
_NEXT = r"\\*+[\"']?[\w.-]++\\*+[\"']?[ \t]*+"
_WORD_ENDS = re.compile(rf"\s|{_QUOTE}|[,;](?=\s|\Z)|[,;&](?={_NEXT}[:=])")
_PARAMETER_ENDS = re.compile(rf"[\r\n]|{_QUOTE}|(?<![ \t])[ \t]++(?={_NEXT}=)|[,;&][ \t]*+(?={_NEXT}=)")
_ENTRY_ENDS = re.compile(rf"[\r\n]|{_QUOTE}|[,;][ \t]*+(?={_NEXT}:)")
_QUOTES = {quote: re.compile(rf"(?<!\\)(\\*+){quote}") for quote in "\"'"}
_BRACKETS = re.compile(r"""(?<![\w\\])[bfru]{0,2}+(?P<slashes>\\*+)(?P<quote>["'])|(?P<opens>[\[({])|[\])}]""", re.I)
_INDENTATION = re.compile(r"[ \t]*+(?:-[ \t]++)*+")
_LINE_BREAK = re.compile(r"[ \t]*+\r?\n")
_LINE = re.compile(r"(?!\Z)(?P<blanks>[ \t]*+)(?P<content>(?P<item>-[ \t])?[^\r\n][^\n]*+)?(?P<ending>\r?\n?)")

# The user and the password of an address. Behind `user:` anything may stand, if it is no port.
_USER = r"[^\s/?#\"':@\[]*+:(?!\d*+(?:\W|\Z))"
_PRIVATE_KEY = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES = (
    (re.compile(rf"-----BEGIN {_PRIVATE_KEY}.*?(?:-----END {_PRIVATE_KEY}|\Z)", re.DOTALL), HIDDEN),
    # Tokens of our own say what they are.
    (re.compile(r"\bshipyard_[\w-]{16,}+"), f"shipyard_{HIDDEN}"),
    (re.compile(rf"(\w://)(?:{_USER}[^\s\"']{{0,200}}|[^\s/?#\"']*)@"), rf"\1{HIDDEN}@"),
)
_AFTER_SCHEME = re.compile(r"\b((?:basic|bearer)\s++)(?!authenti|authori|credential)[\w.~+/-]{12,}+=*+", re.IGNORECASE)
# The same where a text was cut off: their beginnings.
_BEGINNINGS = (
    (re.compile(r"\bshipyard_[\w-]{0,15}+\Z"), f"shipyard_{HIDDEN}"),
    (re.compile(rf"(\w://)(?:{_USER}[^\s\"']{{0,200}}+|[^\s/?#\"']*+)\Z"), rf"\1{HIDDEN}"),
    (re.compile(r"\b((?:basic|bearer)\s++)[\w.~+/-]{0,11}+\Z", re.IGNORECASE), rf"\1{HIDDEN}"),
)


class Redacted(str):
    """A text that has been searched for secrets."""

    __slots__ = ()


def is_secret(name: str) -> bool:
    """Return whether a value of this name is a secret."""
    return _SECRET_NAME.search(name) is not None


def redacted(text: str) -> str:
    """Return a text without anything that looks like a secret."""
    for shape, shown in _SHAPES:
        text = shape.sub(shown, text)
    return _AFTER_SCHEME.sub(rf"\1{HIDDEN}", _without_named(text))


def redacted_query(query: str) -> str:
    """Return a query string without the values of parameters that are secrets by their name, however it is encoded.

    Each parameter is scrubbed by itself, so that none hides another.
    """
    return "&".join(map(_parameter, query.split("&")))


def shortened(text: str, longest: int) -> Redacted:
    """Return the first ``longest`` characters of a text without secrets, and mark the cut.

    The text is cut before it is searched, so a possible beginning of a secret at its end is removed, too.
    """
    if len(text) <= longest:
        return Redacted(redacted(text))
    return Redacted(f"{_unfinished(redacted(text[:longest]))}{left_out(len(text) - longest)}")


def shortened_query(query: str, longest: int) -> Redacted:
    """Return the beginning of a query string in the same way."""
    if len(query) <= longest:
        return Redacted(redacted_query(query))
    *whole, last = query[:longest].split("&")
    shown = _unfinished(_parameter(last))
    meant = unquote_plus(shown)
    if _unfinished(meant) != meant:
        shown = f"{last.partition('=')[0]}={HIDDEN}"
    return Redacted(f"{'&'.join([*map(_parameter, whole), shown])}{left_out(len(query) - longest)}")


def left_out(characters: int) -> str:
    """Return the note that replaces the missing part of a text."""
    return f"[{characters} characters left out]"


def _unfinished(text: str) -> str:
    for beginning, shown in _BEGINNINGS:
        text = beginning.sub(shown, text)
    return text


def _parameter(part: str) -> str:
    name, equals, _ = part.partition("=")
    # A name with a code in it is none of ours; the decoded one may be.
    if equals and ("%" in name or is_secret(name)):
        return f"{name}={HIDDEN}"
    shown = redacted(part)
    meant = unquote_plus(shown)
    return shown if meant == shown or redacted(meant) == meant else f"{name}={HIDDEN}"


def _without_named(text: str) -> str:
    parts = []
    at = 0
    while named := _NAMED.search(text, at):
        begins, ends = _value_of(text, named)
        parts.append(text[at:begins])
        if ends > begins:
            parts.append(HIDDEN)
        at = ends
    return "".join([*parts, text[at:]])


def _value_of(text: str, named: re.Match[str]) -> tuple[int, int]:
    """Return start and end of the value that follows a telltale name, without its quotes."""
    value = _VALUE.match(text, named.end())
    if value is None or value["hidden"]:
        return (at := value.end() if value else named.end()), at
    if value["quote"]:
        return value.end(), _end_of_quoted(text, value)[0]
    if _COUNTED.search(text, max(0, named.start() - 1), named.end()) and (count := _COUNT.match(text, value.end())):
        return count.end(), count.end()
    if named["pair"]:
        return value.end(), value.end()
    begins = ends = next((value.start(kind) for kind in ("bracket", "scheme") if value[kind]), value.end())
    if value["bracket"]:
        ends = _end_of_bracket(text, begins)
        if _is_end(text, ends):
            return begins, ends
    ends = _end_of_unquoted(text, max(ends, value.end()), _ends(named))
    return begins, _end_of_indented(text, named, begins, ends)


def _ends(named: re.Match[str]) -> re.Pattern[str]:
    if named["word"]:
        return _WORD_ENDS
    return _PARAMETER_ENDS if named["equals"] and not named["header"] else _ENTRY_ENDS


def _is_end(text: str, at: int) -> bool:
    """Return whether a quote or a bracket before that place can be a closing one: no word goes on there."""
    following = text[at : at + 1]
    return not (following.isalnum() or following == "_")


def _end_of_quoted(text: str, opening: re.Match[str]) -> tuple[int, int]:
    """Return where the closing quote begins and ends, both the end of the text if there is none.

    A quote in JSON in JSON has backslashes before it, and those within its text have more of them.
    """
    depth = len(opening["slashes"])
    for match in _QUOTES[opening["quote"]].finditer(text, opening.end()):
        slashes = len(match[1])
        closing = slashes < depth or slashes % (2 * (depth + 1)) == depth
        if closing and _is_end(text, match.end()):
            return match.end() - 1 - min(slashes, depth), match.end()
    return len(text), len(text)


def _end_of_bracket(text: str, at: int) -> int:
    """Return the end of what a bracket holds, the end of the text if it is never closed."""
    depth = 0
    while match := _BRACKETS.search(text, at):
        if match["quote"]:
            at = _end_of_quoted(text, match)[1]
            continue
        depth += 1 if match["opens"] else -1
        at = match.end()
        if depth == 0:
            return at
    return len(text)


def _end_of_unquoted(text: str, at: int, ends: re.Pattern[str]) -> int:
    while match := ends.search(text, at):
        if not match["quote"]:
            return match.start()
        if text[match.start() - 1] == "=":
            at = _end_of_quoted(text, match)[1]  # one of several parameters in a header
        elif _is_end(text, match.end()):
            return match.start()
        else:
            at = match.end()
    return len(text)


def _end_of_indented(text: str, named: re.Match[str], begins: int, ends: int) -> int:
    """Return the end of a value of several lines, as YAML and headers write them: the more indented lines.

    The items of a list need not be; and what has no blanks in it does not go on behind a line break.
    """
    line_break = _LINE_BREAK.match(text, ends)
    if line_break is None or (named["word"] and text[begins:ends][:1] not in ("", "|", ">")):
        return ends
    indentation = _INDENTATION.match(text, text.rfind("\n", 0, named.start()) + 1)
    width = len(indentation[0]) if indentation else 0
    least_of_an_item = width if begins == ends else width + 1
    at = line_break.end()
    while line := _LINE.match(text, at):
        least = least_of_an_item if line["item"] else width + 1
        if line["content"] and len(line["blanks"]) < least:
            break
        at = line.end()
        ends = line.start("ending") if line["content"] else ends
    return ends
