"""What ``shipyard reconcile`` prints. Pure."""

from shipyard_api.cli.output.printout import Printout, sections, table
from shipyard_api.cli.output.shapes import list_at, object_at, objects_at, parse_object
from shipyard_api.cli.output.wording import printable

_HEADERS = ("Held", "Job", "Operation", "Nodes Of The Job")
_NOTHING = "The action is not asked whose a job is."


def reconciliation(text: str, *, action_id: str) -> Printout:
    """Return the jobs whose owner a person must say, the commands that say it, and what was said before."""
    body = parse_object(text)
    rows, jobs = [], dict[str, None]()
    for held in objects_at(body, "held"):
        for job in objects_at(held, "jobs"):
            nodes = ", ".join(map(printable, list_at(held, "nodes")))
            what = f"{printable(held.get('operation'))} of {nodes}"
            rows.append((what, job.get("job"), job.get("operation"), ", ".join(map(printable, list_at(job, "nodes")))))
            jobs[printable(job.get("job"))] = None
    answers = object_at(body, "answers")
    owners = (("ours", "this action's"), ("others", "another client's"))
    said = [(job, owner) for key, owner in owners for job in list_at(answers, key)]
    asked = [table(rows, _HEADERS), _commands(action_id, list(jobs))] if rows else [_NOTHING]
    return sections(*asked, *([table(said, ("Answered Job", "Is"))] if said else []))


def _commands(action_id: str, jobs: list[str]) -> str:
    command = f"  shipyard reconcile {action_id}"
    none = "".join(f" --not-ours {job}" for job in jobs)
    taken_up = [f"{command} --ours {job}" for job in jobs]
    return "\n".join(
        [
            "To take up a job that this action began:",
            *taken_up,
            "To send the work, because none of these jobs is this action's:",
            f"{command}{none}",
        ]
    )
