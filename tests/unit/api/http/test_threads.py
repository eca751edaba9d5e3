"""Work that may take seconds takes no thread from other requests."""

import asyncio
import threading

from shipyard_api.api.http.threads import USUAL_THREADS, in_thread, parsed, threaded_design
from tests.unit.tables import every_row
from tests.waiting import PATIENCE


@every_row(["large bodies", "designs"])
def test_other_requests_find_a_thread_while_slow_work_waits_for_its_turn(slow: str) -> None:
    released = threading.Event()

    def wait(*_: object) -> None:
        released.wait(PATIENCE)

    class Answer:
        media = None

    async def run() -> None:
        begun = [
            asyncio.ensure_future(
                parsed(wait, bytes(128 * 1024)) if slow == "large bodies" else threaded_design(wait)(None, None, Answer)
            )
            for _ in range(USUAL_THREADS + 1)
        ]
        assert await in_thread(len, "other") == 5
        assert await parsed(len, b"small") == 5
        assert not any(work.done() for work in begun)
        released.set()
        await asyncio.gather(*begun)

    asyncio.run(run())
