"""What every process exposes."""

import platform
from importlib.metadata import version

from prometheus_client.parser import text_string_to_metric_families

from shipyard_api.adapters.prometheus.exposition import ActivityMetrics, PrometheusText
from tests.unit.tables import every_row


@every_row(["", "berlin"])
def test_the_release_is_a_metric(site: str) -> None:
    text = PrometheusText(ActivityMetrics(), site=site).text().decode()
    families = {one.name: one for one in text_string_to_metric_families(text)}

    (sample,) = families["shipyard_build_info"].samples
    labels = {"version": version("shipyard"), "python": platform.python_version()}
    assert (sample.labels, sample.value) == (labels | ({"site": site} if site else {}), 1)
