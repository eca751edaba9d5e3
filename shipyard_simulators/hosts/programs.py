"""The programs that only a simulated host has, as files before all others in its PATH.

Without them, a task that restarts its node would restart the machine that the simulator runs on.
"""

from pathlib import Path

_NO_SYSTEMD = """#!/bin/sh
echo "${0##*/}: this is a simulated host, without systemd" >&2
exit 1
"""
_RESTART = """#!/bin/sh
echo "restart $SIMULATED_HOST" >"$SIMULATED_CONTROL"
exec sleep 86400
"""
PROGRAMS = {
    "reboot": _RESTART,
    "shutdown": _RESTART,
    "poweroff": _RESTART,
    "halt": _RESTART,
    "systemctl": _NO_SYSTEMD,
    "systemd-run": _NO_SYSTEMD,
}

# The shell of a host whose tasks do not go well. An attempt of a task is the only thing that it is asked for by that
# word.
_SHELL = """#!/bin/sh
[ "${2-}" = attempt ] || exec /bin/sh "$@"
if [ -n "$SIMULATED_TIMES" ]; then
    echo >>"$SIMULATED_DIRECTORY/attempts"
    [ "$(($(wc -l <"$SIMULATED_DIRECTORY/attempts")))" -le "$SIMULATED_TIMES" ] || exec /bin/sh "$@"
fi
[ -z "$SIMULATED_REASON" ] || echo "$SIMULATED_REASON"
case $SIMULATED_OUTCOME in
slow) sleep "$SIMULATED_SECONDS" && exec /bin/sh "$@" ;;
never) exec sleep 86400 ;;
reboot) exec reboot ;;
lose) echo "wipe $SIMULATED_HOST" >"$SIMULATED_CONTROL" && exec sleep 86400 ;;
esac
exit 1
"""
FAULTY = {"sh": _SHELL}


def write(directory: Path, scripts: dict[str, str]) -> None:
    """Write executable files."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, script in scripts.items():
        file = directory / name
        file.write_text(script, encoding="utf-8")
        file.chmod(0o755)
