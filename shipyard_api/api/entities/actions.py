"""Parts of an action: what it waits for, what its failures have in common, and how its overview and report name it.

The action itself is described by hand, as a contract has it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.types import ActionName, Natural, Ulid, Zulu, component, described, one_of
from shipyard_api.domain.actions import RunState, lifecycle

Verdict = Annotated[str, one_of([RunState.SUCCESS, RunState.FAILED])] | None
WayBack = Annotated[Sequence[Mapping[str, str]], component("WayBack")]
Older = Annotated[Sequence[str], component("Older")]


class WaitingFor(Entity, kw_only=True):
    """What an action waits for; null once it has ended.

    ``who``: the system, such as Drydock, or a worker or an operator. ``what``: the work and its state.
    ``last_answer``: the latest answer, also one that could not be used; empty before the first. ``answered_at``: when
    the system last gave an answer that could be used. ``next_attempt``: when it is asked again; null while a request is
    on its way. ``deadline``: when Shipyard stops waiting; null without a limit.
    """

    who: str
    what: str = ""
    since: Zulu = ""
    last_answer: str = ""
    answered_at: Zulu | None = None
    next_attempt: Zulu | None = None
    deadline: Zulu | None = None


class ActionSummary(Entity, kw_only=True, rename={"revision": "committed_rev_id", "state": "dag_status"}):
    """An action without its steps.

    ``committed_rev_id``: null if none is committed. ``action_lifecycle``: Derived from `dag_status`; existing clients
    wait for these words.
    """

    id: Ulid
    name: ActionName
    parameters: Mapping[str, Any]
    user: str
    revision: Annotated[int, described(minimum=1)] | None
    state: Annotated[str, one_of(RunState)]
    action_lifecycle: Annotated[str, one_of(map(lifecycle, RunState))]
    created_at: Zulu
    started_at: Zulu | None
    ended_at: Zulu | None
    waiting_for: WaitingFor | None = None


class Tie(Entity):
    """A feature with its value."""

    feature: str
    value: str


class EarlierCase(Entity, rename={"action": "action_id"}):
    """The same cause in earlier actions. ``action_id``: the newest of them."""

    times: Annotated[int, described(minimum=1)]
    first_at: Zulu
    action: str


class Case(Entity, kw_only=True):
    """What nodes have in common and others do not.

    ``feature``: What they share: `rack`, `switch`, `port_group`, `power_domain`, `bmc_subnet`, `network`, `model`,
    `hardware_profile`, `firmware`, `image`, `host_profile`, `template`, `label`, `tag`, `group`, `wave`, `sent` (since
    a moment), or `words`: nothing but the reason. More may follow. ``value``: of the feature; of `words`, the reason
    without numbers, names and addresses. ``nodes``: those that failed, or are late, or differ, and have the value.
    ``affected``: all that failed, or are late, or differ, that no case before explains, and of which the feature is
    known. ``unknown``: those of which it is not known. ``others``: nodes that were tried and did well. ``others_with``:
    those of them that have the value too. ``words``: how the most common reason begins; … stands for what differs from
    node to node. ``also``: Other features that hold the same nodes, as far as both are known. ``rest``: Nodes with the
    value that have not begun. ``command``: What could be done now. Shipyard never does it by itself. Empty where
    nothing is proposed. ``earlier``: The same cause in earlier actions; null if it is the first time.
    """

    kind: Annotated[str, one_of(["failed", "late", "drift"])]
    feature: str
    value: str
    sentence: Annotated[
        str,
        described(
            examples=[
                "11 of the 12 that failed are in rack r3; 2 of 180 others are. Since 02:14 UTC. First words: IPMI "
                "session timed out."
            ]
        ),
    ]
    nodes: list[str]
    affected: Natural
    unknown: Natural
    others: Natural
    others_with: Natural
    since: Zulu | None
    words: str
    also: list[Tie]
    rest: Natural
    command: str
    earlier: EarlierCase | None


CaseList = Annotated[Sequence[Case], component("Cases")]


class WithCases(Entity, kw_only=True):
    """What has cases, and no member for them without any."""

    cases: CaseList | UnsetType = UNSET
    cases_unknown: Annotated[str, component("CasesUnknown")] | UnsetType = UNSET


class Teardown(Entity):
    """An operation that takes a node down.

    ``waits_for``: What it waits for, in one sentence each; at most 5 of them. ``waits``: How many things it waits for.
    """

    node: str
    operation: Annotated[str, described(examples=["drain"])]
    since: Zulu
    waits_for: list[str]
    waits: int


class ActionNews(WithCases, kw_only=True):
    """What goes on in an action, among the rest of it: what the command line reads."""

    waiting_for: WaitingFor | None = None
    teardowns: Sequence[Teardown] = ()
