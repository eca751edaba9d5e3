"""Shared by the recorders: requests to a real peer, and playing the stories of its simulator to it."""

import difflib
import ssl
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError

from real_peer import ROOT

sys.path.insert(0, str(ROOT))

from shipyard_simulators.tests.recorded import Answer, Player, answered, stories, written

PATIENCE = 60.0  # seconds for one answer or wait


def sent(url: str, method: str, content: bytes | None, headers: dict[str, str]) -> Answer:
    """Send a request over a connection of its own, whoever the peer's certificate names."""
    request = urllib.request.Request(url, content, headers, method=method)  # noqa: S310  # of a test's peer
    try:
        anyone = ssl._create_unverified_context()  # noqa: S323  # on loopback
        with urllib.request.urlopen(request, timeout=PATIENCE, context=anyone) as answer:  # noqa: S310
            return Answer(answer.status, answer.headers, answer.read().decode())
    except HTTPError as error:
        return Answer(error.code, error.headers, error.read().decode())


def until(happened: Callable[[], bool]) -> None:
    """Wait until something happens."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError("it never happened")
        time.sleep(0.1)


def record(arguments: list[str], folder: Path, player: Player, clear: Callable[[], None]) -> int:
    """Play the stories of a folder, or of the files that are named; ``clear`` removes what a story made.

    The answers replace those in the files. With ``--check`` the differences are printed instead, and returned as 1.
    """
    check = "--check" in arguments
    named = [Path(argument) for argument in arguments if argument != "--check"]
    changed = failed = False
    for file in named or sorted(folder.glob("*.yaml")):
        played = []
        for story in stories(file):
            # Only what differs twice differs: a periodic task of the peer comes between now and then.
            for _ in range(2 if check else 1):
                clear()
                try:
                    again, trouble = {**story, "steps": list(answered(story["steps"], player))}, ""
                except (AssertionError, TimeoutError) as error:
                    again, trouble = story, repr(error)
                if not trouble and written(file, [again]) == written(file, [story]):
                    break
                if check:
                    sys.stdout.write(f"{file.name}: {story['story']}: differs{trouble and f', {trouble}'}\n")
            if trouble:
                sys.stdout.write(f"{file.name}: {story['story']}: {trouble}\n")
                failed = True
            played.append(again)
        clear()
        before, after = file.read_text(), written(file, played)
        if check:
            pairs = before.splitlines(), after.splitlines()
            changes = list(difflib.unified_diff(*pairs, "recorded", "now", lineterm="", n=0))
            sys.stdout.write("".join(f"{line}\n" for line in changes))
            changed = changed or bool(changes)
        else:
            file.write_text(after)
    return int(changed or failed)
