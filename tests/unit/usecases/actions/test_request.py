"""What a request may do for its caller."""

from shipyard_api.domain.actions import ActionName
from shipyard_api.usecases.actions.request import ActionRequest


def test_a_request_overrides_nothing_unless_the_policy_was_asked() -> None:
    request = ActionRequest(ActionName("deploy_site"), {"force": True}, None)
    assert (request.may_override_holds, request.may_pass_policy) == (False, False)
    assert request.agreement.plan is None
