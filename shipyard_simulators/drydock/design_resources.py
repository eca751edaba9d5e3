"""``/nodefilter`` and ``/validatedesign``."""

from typing import Any
from zlib import crc32

import falcon

from shipyard_simulators.clock import Clock, stamp
from shipyard_simulators.drydock.design import Design, Problem
from shipyard_simulators.drydock.designs import Designs, UnreadableDesign
from shipyard_simulators.drydock.filters import NotEvaluable, select
from shipyard_simulators.drydock.orchestrator import Orchestrator
from shipyard_simulators.drydock.wire import BodyRefused, json_object, send_broken, send_error
from shipyard_simulators.outcomes import TaskOutcomeKind

_PASSED = (
    ("DD2001", "Rational boot storage"),
    ("DD2002", "Network trunking"),
    ("DD2003", "Unique addresses"),
    ("DD2004", "Rational network bonds"),
    ("DD3001", "Platform selection"),
)


class NodeFilter:
    """The nodes of a design that a filter selects."""

    def __init__(self, orchestrator: Orchestrator, designs: Designs) -> None:
        self._orchestrator = orchestrator
        self._designs = designs

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return their names in no particular order; a design that cannot be read has none."""
        try:
            body = json_object(req, refuse_with=500)
        except BodyRefused:
            send_broken(resp)
            return
        design_ref = body.get("design_ref")
        if design_ref is None:
            send_error(resp, 400, "design_ref is missing")
            return
        try:
            names = select(self._designs.read(str(design_ref)).nodes, body.get("node_filter"))
        except NotEvaluable:
            send_broken(resp)
        except UnreadableDesign:
            if self._orchestrator.scenario.quirks["empty_answer_for_unreadable_design"]:
                resp.media = []
            else:
                send_broken(resp)
        else:
            # Neither sorted nor in the order of the design, but the same in every run.
            resp.media = sorted(names, key=lambda name: crc32(name.encode()))


class ValidateDesign:
    """The validation of a design."""

    def __init__(self, orchestrator: Orchestrator, designs: Designs, clock: Clock) -> None:
        self._orchestrator = orchestrator
        self._designs = designs
        self._clock = clock

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return a Status object with every message."""
        href = json_object(req, refuse_with=400).get("href")
        if not isinstance(href, str):
            raise BodyRefused(400, "href is missing")
        try:
            design = self._designs.read(href)
        except UnreadableDesign:
            send_error(resp, 500, "'NoneType' object has no attribute 'baremetal_nodes'")
            return
        resp.media = status = self._status(design)
        resp.status = falcon.code_to_http_status(status["code"])

    def _status(self, design: Design) -> dict[str, Any]:
        problems = list(design.malformed)
        if not problems:  # a document that breaks its schema ends the validation before any rule runs
            outcome = self._orchestrator.scenario.task_outcome("validate_design")
            problems += design.problems
            if outcome.kind is TaskOutcomeKind.FAIL:
                message = outcome.reason or "The design was refused"
                problems.append(Problem("DD3002", "Error", message, "The scenario says so."))
            problems += [Problem(code, "Info", f"{rule}: passed", "") for code, rule in _PASSED]
        errors = sum(problem.level == "Error" for problem in problems)
        status = {
            "kind": "Status",
            "apiVersion": "v1.0",
            "metadata": {},
            "code": 400 if errors else 200,
            "status": "Failure" if errors else "Success",
            "message": "Site design failed validation." if errors else "Site design passed validation",
            "reason": "See detail messages." if errors else None,
            "details": {
                "errorCount": errors,
                "messageList": [self._message(problem) for problem in problems],
            },
        }
        if design.malformed:
            status |= {"status": "failure", "message": None}
        return status

    def _message(self, problem: Problem) -> dict[str, Any]:
        documents = [dict(zip(("schema", "name"), problem.document, strict=True))] if problem.document else []
        return {
            "kind": "ValidationMessage",
            "name": problem.code,
            "level": problem.level,
            "error": problem.level == "Error",
            "message": problem.message,
            "diagnostic": problem.diagnostic,
            "ts": stamp(self._clock.now(), offset="+00:00"),
            "documents": documents,
        }
