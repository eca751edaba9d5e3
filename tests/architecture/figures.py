"""The size of the house in figures, and the committed limits of them: the program behind ``./dev figures``.

The limits (`figures.txt`) may only go down. A change that needs a higher one raises it in the same commit and says why,
and which mechanism it replaces.
"""

import ast
import math
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "shipyard_api"
LIMITS = Path(__file__).with_suffix(".txt")
LONGEST, MOST_PARAMETERS = 40, 7
# What the user's frame names; everything else that a program imports is our choice.
FRAME = "import falcon.asgi, networkx, oslo_policy.policy, procrastinate, requests, sqlalchemy.dialects.postgresql"
PROGRAMS = {
    "CPU to import the API": "import shipyard_api.wiring.bootstrap, shipyard_api.wiring.site_serving",
    "CPU of shipyard --help": "from shipyard_api.cli.main import shipyard; shipyard(['--help'])",
}
ALLOWANCE = 1.25
"""How much more CPU than its limit a program may take: a busy machine measures some of its neighbours."""
# How a measured figure becomes a limit: changes that land together need not all touch the table.
_ROUNDED = {"product lines": 1000, "files": 10, "isinstance": 10, "Any": 10}
_OTHERS = 2

Figures = Mapping[str, float]


def main(arguments: list[str]) -> int:
    """Print each figure with its limit; ``--write`` lowers the limits. Return 1 if a figure is above its limit."""
    programs = Programs()
    programs.measured()
    found = {**of_source(), **programs.measured()}
    if "--write" in arguments:
        lower = {name: min(limit(name, value), limits().get(name, math.inf)) for name, value in found.items()}
        LIMITS.write_text("".join(f"{name:<32}{value:>8g}\n" for name, value in lower.items()), encoding="utf-8")
    wanted, over = limits(), worse(found)
    sys.stdout.write(f"{'figure':<32}{'now':>8}{'limit':>8}\n")
    for name, value in found.items():
        sys.stdout.write(f"{name:<32}{value:>8g}{wanted.get(name, 0):>8g}{'  above' * (name in over)}\n")
    return int(bool(over))


def limits() -> Figures:
    """Return the committed limits."""
    lines = LIMITS.read_text(encoding="utf-8").splitlines() if LIMITS.is_file() else []
    return {name.strip(): float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def worse(found: Figures) -> list[str]:
    """Return the figures that are above their limits, or have none."""
    wanted = limits()
    allowed = {name: value * (ALLOWANCE if name in PROGRAMS else 1) for name, value in wanted.items()}
    return [name for name, value in found.items() if value > allowed.get(name, -1)]


def limit(name: str, value: float) -> float:
    """Return the limit that a measured figure gets: the next round number above it."""
    step = 0.05 if isinstance(value, float) else _ROUNDED.get(name, _OTHERS)
    return (value // step + 1) * step


def of_source() -> Figures:
    """Return the figures that are read from the source."""
    modules = {module: module.read_text(encoding="utf-8") for module in sorted(PRODUCT.rglob("*.py"))}
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    names = Counter[str]()
    edges = set[tuple[str, str]]()
    for module, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Name():
                    names[node.id] += 1
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    functions.append(node)
                case ast.Import() | ast.ImportFrom():
                    edges |= {(_room(module), room) for room in _imported(node)}
    lines = sum(text.count("\n") for text in modules.values())
    tests = sum(module.read_text(encoding="utf-8").count("\n") for module in (ROOT / "tests").rglob("*.py"))
    return {
        "product lines": lines,
        "files": len(modules),
        f"functions over {LONGEST} lines": sum(_length(function) > LONGEST for function in functions),
        f"functions over {MOST_PARAMETERS} parameters": sum(
            len(_parameters(function)) > MOST_PARAMETERS for function in functions
        ),
        "pass-throughs": sum(map(_passes_through, functions)),
        "isinstance": names["isinstance"],
        "Any": names["Any"],
        "noqa": sum(text.count("# noqa") for text in modules.values()),
        "arrows between rooms": len({(room, other) for room, other in edges if room != other}),
        "rooms": len({_room(module) for module in modules} - {"__init__"}),
        "test lines per product line": round(tests / lines, 3),
    }


class Programs:
    """The CPU of each program as a ratio to that of importing the libraries of the frame.

    The CPU of a program contains some of what its neighbours do to the caches: the best of all its runs counts.
    """

    def __init__(self) -> None:
        self._best = dict.fromkeys(("pass", FRAME), math.inf)
        self._run(self._best)

    def measured(self) -> Figures:
        """Run everything once more; return the figures of the best runs."""
        self._run(("pass", FRAME, *PROGRAMS.values()))
        empty, frame, *programs = (self._best[code] for code in ("pass", FRAME, *PROGRAMS.values()))
        return {name: round((own - empty) / (frame - empty), 3) for name, own in zip(PROGRAMS, programs, strict=True)}

    def _run(self, codes: Iterable[str]) -> None:
        for code in codes:
            self._best[code] = min(self._best.get(code, math.inf), _cpu(code))


def _cpu(code: str) -> float:
    """Return the CPU seconds of a Python that runs this."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Compiled modules, as an installed program has them, whatever the caller's Python keeps.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _room(module: Path) -> str:
    return module.relative_to(PRODUCT).parts[0].removesuffix(".py")


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Return the rooms that a statement imports from."""
    imported = [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        whole = statement.module == PRODUCT.name
        imported = [f"{statement.module}.{name}" for name in imported] if whole else [statement.module or ""]
    return (name.split(".")[1] for name in imported if name.startswith(f"{PRODUCT.name}."))


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of the parameters that a caller gives."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def _passes_through(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function only calls another one with its own parameters, in their order."""
    is_documented = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    body = function.body[is_documented:]
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return | ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    given = [argument.id if isinstance(argument, ast.Name) else None for argument in arguments]
    return bool(given) and given == _parameters(function)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
