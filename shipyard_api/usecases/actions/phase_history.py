"""What a rollout's phases are assumed to be like, from the history of the site and the limits of its design."""

from collections.abc import Mapping, Sequence

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.update_checks import TEARDOWN_HISTORY
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import Assumptions
from shipyard_api.domain.rollout.history import PhaseHistory, TeardownHistory, assume
from shipyard_api.domain.rollout.policy.lateness import Usual
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.storage.unit_of_work import Store

# How many actions the history is taken from: the site of last year was another one.
_ACTIONS = 50


def read_history(store: Store, before: ActionId | None = None) -> Mapping[Phase, PhaseHistory]:
    """Return the history of both phases, or only that of actions before one."""
    names = ACTIONS.deploying
    return store.read(lambda tx: tx.nodes.phase_history(names, actions=_ACTIONS, before=before))


def read_teardowns(store: Store, ways: Ways, before: ActionId | None = None) -> TeardownHistory:
    """Return how long servers took to be taken down; nothing is read for an action that takes none down."""
    if not ways.reinstalled:
        return TeardownHistory()
    return store.read(lambda tx: tx.nodes.teardown_history(actions=TEARDOWN_HISTORY, before=before))


def measured(store: Store) -> Mapping[Phase, Sequence[float]]:
    """Return how long each phase of groups took, in seconds and in ascending order."""
    return {phase: history.seconds for phase, history in read_history(store).items()}


def usual_durations(store: Store, models: Mapping[NodeName, str]) -> Usual:
    """Return how long each phase usually lasts with nodes of these hardware profiles; of enough nodes only."""
    names = ACTIONS.deploying
    return store.read(lambda tx: tx.nodes.usual_durations(names, models, actions=_ACTIONS))


def assumptions_of(
    inputs: SiteInputs, history: Mapping[Phase, PhaseHistory], failures: Mapping[Phase, float]
) -> Assumptions:
    """Return what to assume of an action with these inputs; ``failures`` replace measured probabilities."""
    configuration = inputs.configuration
    limits = {
        Phase.PREPARE: configuration.prepare_nodes.timeout,
        Phase.DEPLOY: configuration.deploy_nodes.timeout,
    }
    if (burn_in := configuration.burn_in) is None:
        return assume(history, limits, failures)
    limits[Phase.PREPARE] -= burn_in.length
    assumed = assume(history, limits, failures)
    return {**assumed, Phase.PREPARE: assumed[Phase.PREPARE].lasting(burn_in.prolonged)}
