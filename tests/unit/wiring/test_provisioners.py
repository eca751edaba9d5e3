"""Where people look at a node of the provisioner."""

import pytest

from shipyard_api.settings.types import NodePage
from shipyard_api.wiring.provisioners import node_page
from shipyard_api.wiring.settings import ProvisionerOptions, Settings, SettingsError, load
from tests.unit.tables import every_row


@every_row(
    [
        ("", None),
        ("https://maas.example/MAAS/r/machines?hostname={node}", "https://maas.example/MAAS/r/machines?hostname=n%201"),
    ],
)
def test_a_node_has_the_page_of_the_template(template: str, page: str | None) -> None:
    assert node_page(Settings(provisioner=ProvisionerOptions(node_page=NodePage(template))))("n 1") == page


@every_row(["https://maas.example/", "javascript:alert({node})", "maas/{node}"])
def test_a_page_that_is_no_address_of_a_node_is_refused(written: str) -> None:
    with pytest.raises(SettingsError, match="has \\{node\\} for the name"):
        load({"SHIPYARD_CONFIG": "/dev/null", "SHIPYARD_PROVISIONER_NODE_PAGE": written})
