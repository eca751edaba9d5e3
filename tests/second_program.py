"""An application in a second process that dies or is silent at some paths: ``python -m tests.second_program FD``."""

import asyncio
import os
import signal
import sys

from shipyard_api.api.http import second_process
from shipyard_api.api.http.limits import Receive, Scope, Send


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body, its path and the priority."""
    if scope["path"] == "/die":
        os.kill(os.getpid(), signal.SIGKILL)
    if scope["path"] == "/silent":
        await asyncio.Event().wait()
    body = (await receive())["body"]
    headers = [(b"content-type", b"text/plain"), (b"retry-after", b"7")]
    await send({"type": "http.response.start", "status": 418, "headers": headers})
    text = f"{scope['path']} {body.decode()} {os.nice(0)} "
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": dict(scope["headers"]).get(b"x", b"")})


if __name__ == "__main__":
    second_process.lower_priority()
    second_process.serve(application, int(sys.argv[1]))
