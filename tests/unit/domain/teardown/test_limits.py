"""Time limits of a teardown (seed 004)."""

from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.limits import TeardownLimits
from tests.unit.tables import every_row


def test_the_defaults_are_those_of_the_seed() -> None:
    limits = TeardownLimits()

    assert (limits.drain, limits.drain_grace_period, limits.clear_labels, limits.remove_etcd, limits.etcd_ready) == (
        3600,
        1800,
        1800,
        1800,
        600,
    )
    assert limits.shutdown_kubelet == 300
    assert limits.check() == ()


@every_row(
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
        "etcd-ready-timeout is 0: write a whole number of seconds above 0."
    )


@every_row(
    [
        ({}, TeardownLimits(), []),
        ({"drain-timeout": "7200", "grace-period": 60}, TeardownLimits(drain=7200, drain_grace_period=60), []),
        ({"on-blocked": "delete", "force": "true"}, TeardownLimits(on_blocked=OnBlocked.DELETE), []),
        ({"on-blocked": "evict"}, TeardownLimits(), ["OnBlockedUnknown"]),
        ({"etcd-ready-timeout": True}, TeardownLimits(), ["LimitNotANumber"]),
        ({"etcd-ready-timeout": "9" * 9}, TeardownLimits(etcd_ready=999_999_999), []),
        ({"etcd-ready-timeout": "9" * 10}, TeardownLimits(), ["LimitNotANumber"]),
        ({"clear-labels-timeout": "-1"}, TeardownLimits(clear_labels=-1), ["LimitNotPositive"]),
        ({"drain-timeout": "1800"}, TeardownLimits(drain=1800, drain_grace_period=900), []),
        ({"drain-timeout": "2"}, TeardownLimits(drain=2, drain_grace_period=1), []),
        ({"drain-timeout": 1}, TeardownLimits(drain=1), ["GracePeriodTooLong"]),
        ({"drain-timeout": 60, "grace-period": 60}, TeardownLimits(60, 60), ["GracePeriodTooLong"]),
        ({"grace-period": 3600}, TeardownLimits(drain_grace_period=3600), ["GracePeriodTooLong"]),
    ],
)
def test_limits_from_parameters(written: dict[str, object], expected: TeardownLimits, names: list[str]) -> None:
    limits, faults = TeardownLimits().with_parameters(written)

    assert (limits, [fault.name for fault in faults]) == (expected, names)


def test_limits_are_shown_as_parameters() -> None:
    limits = TeardownLimits(drain=50, drain_grace_period=5)

    assert limits.parameters()["grace-period"] == 5
    assert TeardownLimits().with_parameters(limits.parameters()) == (limits, ())


def test_limits_are_stored_and_read() -> None:
    limits = TeardownLimits(drain=7200, on_blocked=OnBlocked.FAIL)

    assert TeardownLimits.from_json(limits.to_json()) == limits
    assert TeardownLimits.from_json({"drain": 5, "a newer one": 1}) == TeardownLimits(drain=5)
    assert limits.scaled(0.01) == TeardownLimits(72, 18, 18, 18, 6, 3, OnBlocked.FAIL)
