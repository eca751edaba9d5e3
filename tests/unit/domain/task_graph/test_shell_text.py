"""Values in shell text (product, section 7): real shells judge that a value stays what it is, wherever it stands."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from shipyard_api.domain.task_graph.shell_text import NoPlaceForValue, filled
from tests.unit.tables import every_row

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)] or ["sh"]
HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    "a; touch owned",
    "x' && touch owned; 'y",
    'x" && touch owned; "y',
    "a\ntouch owned\nb",
    "${HOME} $0 \\$(touch owned) \\",
    ") touch owned; (",
    "} touch owned; {",
    "* ~ # ! &",
    "2",
    "",
    "ü",
    "A=b",
)
SHOWN = "printf '<%s>' "


def outputs(text: str, value: str) -> list[str]:
    """Return what each shell prints; fail if the value ran as a command."""
    answers = []
    for shell in SHELLS:
        with TemporaryDirectory() as directory:
            answers.append(subprocess.run([shell, "-c", text], cwd=directory, capture_output=True, check=False).stdout)
            assert not list(Path(directory).iterdir()), f"{shell} ran {value!r} in {text!r}"
    return [answer.decode() for answer in answers]


@every_row(
    {
        "alone": SHOWN + "{X}",
        "within a word": SHOWN + "''{X}''",
        "before a redirection": SHOWN + "{X}>&1",
        "in double quotes": SHOWN + '"{X}"',
        "in single quotes": SHOWN + "'{X}'",
        "behind quotes": "true 'it''s' \"\\\"'\"; " + SHOWN + '"{X}"',
        "in a substitution": f'echo "$({SHOWN}{{X}})"',
        "in quotes of a substitution": f'echo "$({SHOWN}"{{X}}")"',
        "in a subshell of a substitution": f"echo \"$( ({SHOWN}'{{X}}') )\"",
        "behind a comment": f"# it's $(\n{SHOWN}{{X}} # {{X}} '\n",
        "behind what shells expand": f": $(( (1 + 2) * 3 )) ${{A:-b}} `true 'x'`\n{SHOWN}{{X}}",
        "behind a subshell of a substitution": f'echo "$( (true) )"\n{SHOWN}{{X}}',
        "behind arithmetic": f': $((1 + 2))""; {SHOWN}{{X}}',
        "behind arithmetic in a substitution": f'echo "$(: $((1)); {SHOWN}{{X}})"',
        "behind a backslash": f': \\a""; {SHOWN}{{X}}',
        "in a case": f"case a in a) {SHOWN}{{X}};; esac",
        "in a here-document": "cat <<E\n<{X}>\nE\n",
        "in a here-document as it is": "cat <<'E'\n<{X}>\nE\n",
        "in a second here-document": 'cat /dev/fd/3 3<<-A <<"B"\n\t\'<{X}>"\n\tA\n{X}\nB\n',
        "in a substitution of a here-document": f"cat <<E\n$({SHOWN}{{X}})\nE\n",
    }
)
def test_a_value_is_printed_as_it_is_wherever_it_stands(text: str) -> None:
    for value in HOSTILE:
        for output in outputs(filled(text, {"X": value}), value):
            assert f"<{value}>" in output, (value, filled(text, {"X": value}))


@every_row(
    {
        "backquotes": 'echo "`echo {X}`"',
        "open backquotes": "`echo '{X}`",
        "an expansion": "echo ${A:-{X}}",
        "arithmetic": "echo $(({X} + 1))",
        "old arithmetic": "echo $[{X}]",
        "arithmetic of two lines": "echo $((1 +\n{X}))",
        "behind a backslash": "echo \\{X}",
        "behind a backslash in quotes": 'echo "\\{X}"',
        "quotes of bash": "echo $'\\'{X}'",
        "a case in a substitution": 'echo "$(case a in a) echo {X};; esac)"',
        "an open quote": "echo '{X}",
        "an open here-document": "cat <<E\n{X}",
        "an open substitution of a here-document": "cat <<E\n$(\nE\n{X}",
        "a delimiter": "cat <<{X}\nE\n",
        "a part of a delimiter": "cat <<E{X}\nE\n",
        "a quoted delimiter": "cat <<'{X}'\nE\n",
        "two openings in a line": 'cat <<E "$(\n{X})"\nE\n',
        "the end of a here-document": "cat <<E\n\n{X}\nE\n",
    }
)
def test_a_value_with_special_characters_is_refused_where_shells_differ(text: str) -> None:
    with pytest.raises(NoPlaceForValue):
        filled(text, {"X": "a;\nE\ntouch owned"})
    assert filled(text, {"X": "plain-1.2"}) == text.replace("{X}", "plain-1.2")


def test_plain_values_and_unknown_names_leave_the_text_as_it_is() -> None:
    text = "a={X} ${X} {Y} `{X}` $(({X})) \\{X}"
    assert filled(text, {"X": "7"}) == "a=7 ${X} {Y} `7` $((7)) \\7"
