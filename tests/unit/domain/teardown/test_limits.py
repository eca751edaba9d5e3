"""Time limits of a teardown (seed 004)."""

import pytest

from shipyard_api.domain.teardown.limits import TeardownLimits


def test_the_defaults_are_those_of_the_seed() -> None:
    limits = TeardownLimits()

    assert (limits.drain, limits.drain_grace_period, limits.clear_labels, limits.remove_etcd, limits.etcd_ready) == (
        3600,
        1800,
        1800,
        1800,
        600,
    )
    assert limits.decommission == 3600 + 1800 + 1800 + 600 + 300
    assert limits.check() == ()


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        (TeardownLimits(drain=100, drain_grace_period=99), []),
        (TeardownLimits(drain=100, drain_grace_period=100), ["GracePeriodTooLong"]),
        (TeardownLimits(drain_grace_period=0), ["LimitNotPositive"]),
        (TeardownLimits(drain=0, drain_grace_period=-1), ["LimitNotPositive", "LimitNotPositive"]),
        (TeardownLimits(etcd_ready=0), ["LimitNotPositive"]),
    ],
)
def test_limits_that_cannot_work_are_all_named(limits: TeardownLimits, names: list[str]) -> None:
    assert [finding.name for finding in limits.check()] == names


def test_a_limit_is_named_as_operators_write_it() -> None:
    assert TeardownLimits(etcd_ready=0).check()[0].message == (
        "etcd-ready is 0: write a whole number of seconds above 0."
    )
