"""Nothing in the repository names the machine it was written on, or where packages came from."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In brackets, so that this file does not name what it looks for.
FORBIDDEN = {
    "a path of somebody's machine": r"(?<![\w.])/(w[o]rk(?!flows)|f[a]rm|h[o]me/\w|ro[o]t/|tmp/(l[a]b|dev[t]rial))",
    "the host of a package index": r"https?://[^\s\"'`)]*(p[y]pi\.|/s[i]mple\b|python[h]osted|artif[a]ctory)",
    "a mark of an unresolved merge": r"^(<{7}|>{7}) ",
}


def test_files_name_no_machine(tracked: list[Path]) -> None:
    found = []
    for path in tracked:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for what, pattern in FORBIDDEN.items():
            for match in re.finditer(pattern, text, re.MULTILINE):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(ROOT)}:{line}: {what}: {match[0]!r}")
    assert found == []
