"""Deploy templates in rows: unique, whole, in order, and changed by one at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
import sqlalchemy as sa

from shipyard_api.domain.deploy_steps.errors import TemplateChanged, TemplateExists, TemplateNotFound
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.ports.state.deploy_templates import Page, SortKey, StoredTemplate, TemplateId
from shipyard_api.storage import site_tables as t
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.deploy_templates.manage import ManageTemplates, WrittenTemplate
from tests.refusals import refuses

ARGS = {"z": [1, {"a": None}], "a": True, "n": 1.5}


def step(name: str = "s", priority: int = 1, **args: object) -> dict[str, object]:
    return {"interface": "raid", "step": name, "args": args, "priority": priority}


def written(name: str, *steps: dict[str, object], **extra: object) -> WrittenTemplate:
    return WrittenTemplate(f"CUSTOM_{name}", list(steps or [step()]), extra)


@pytest.fixture
def templates(store: Store) -> ManageTemplates:
    return ManageTemplates(store)


def change(templates: ManageTemplates, name: str, new: WrittenTemplate) -> StoredTemplate:
    return templates.change(name, lambda _: new, lambda _: True)


def test_a_template_is_kept_as_it_was_written(templates: ManageTemplates) -> None:
    made = templates.create(written("A", step("b", 3, **ARGS), step("a", 2147483647), x=1), None)

    assert templates.one("CUSTOM_A") == templates.one(made.id) == templates.one(made.id.upper()) == made
    assert [one.step for one in made.template.steps] == ["b", "a"]
    assert list(made.template.steps[0].args) == ["z", "a", "n"]
    assert (made.template.steps[0].args, made.extra, made.version, made.updated_at) == (ARGS, {"x": 1}, 1, None)


def test_steps_are_replaced_as_a_whole(templates: ManageTemplates, engine: sa.Engine) -> None:
    made = templates.create(written("A", step("a"), step("b"), step("c")), None)

    changed = change(templates, "CUSTOM_A", written("B", step("c", 9), step("a")))

    assert templates.one(made.id) == templates.one("CUSTOM_B") == changed
    assert [(one.step, one.priority) for one in changed.template.steps] == [("c", 9), ("a", 1)]
    assert (changed.version, changed.created_at) == (2, made.created_at)
    assert changed.updated_at is not None
    assert change(templates, "CUSTOM_B", written("B", step("c", 9), step("a"))) == changed
    assert change(templates, "CUSTOM_B", written("B", step("c", 9, x=1))).version == 3
    assert change(templates, "CUSTOM_B", written("B", step("c", 9, x=True))).version == 4
    templates.delete("CUSTOM_B", lambda _: True)
    with engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(t.deploy_template_steps)).scalar() == 0
    with refuses(TemplateNotFound):
        templates.one(made.id)


def test_names_and_ids_are_unique_and_a_refused_change_changes_nothing(templates: ManageTemplates) -> None:
    first, second = templates.create(written("A"), None), templates.create(written("B"), None)

    with refuses(TemplateExists) as by_name:
        templates.create(written("A", step("x")), None)
    with refuses(TemplateExists) as by_id:
        templates.create(written("C"), first.id)
    with refuses(TemplateExists) as renamed:
        change(templates, "CUSTOM_B", written("A", step("x")))

    assert by_name.value.data == renamed.value.data == {"value": "CUSTOM_A", "by_id": False}
    assert by_id.value.data == {"value": first.id, "by_id": True}
    assert templates.page(Page(9)) == [first, second]


@pytest.mark.parametrize("sort", SortKey)
def test_pages_follow_one_another_in_every_order(templates: ManageTemplates, sort: SortKey) -> None:
    made = [templates.create(written(name), TemplateId(str(uuid4()))) for name in ("B", "D", "A_", "AA", "C")]
    changed = change(templates, "CUSTOM_D", written("D", step("x")))
    made[1] = changed
    keys: dict[SortKey, Callable[[StoredTemplate], object]] = {
        SortKey.ID: lambda one: 0,
        SortKey.UUID: lambda one: one.id,
        SortKey.NAME: lambda one: one.template.name,
        SortKey.CREATED_AT: lambda one: one.created_at,
        SortKey.UPDATED_AT: lambda one: one is changed,
    }
    expected = sorted(made, key=keys[sort])  # type: ignore[arg-type]  # each key has one type

    for order in (False, True):
        found: list[StoredTemplate] = []
        while page := templates.page(Page(2, sort, order, found[-1].id if found else None)):
            found += page
        assert [one.template.name for one in found] == [
            one.template.name for one in (expected[::-1] if order else expected)
        ]


def test_the_templates_of_traits_are_found(store: Store, templates: ManageTemplates) -> None:
    for name in ("B", "A", "C"):
        templates.create(written(name), None)

    with store.begin() as tx:
        found = tx.deploy_templates.of_traits([TraitName(f"CUSTOM_{name}") for name in "BAZ"])

    assert found == [
        DeployTemplate(TraitName(f"CUSTOM_{name}"), (DeployStep(Interface.RAID, "s", {}, 1),)) for name in "AB"
    ]


def test_no_concurrent_change_is_lost(templates: ManageTemplates) -> None:
    templates.create(written("A", step("s0")), None)

    def add(number: int) -> None:
        def edit(stored: StoredTemplate) -> WrittenTemplate:
            steps = [one.to_json() for one in stored.template.steps]
            return WrittenTemplate("CUSTOM_A", [*steps, step(f"s{number}")], {})

        templates.change("CUSTOM_A", edit, lambda _: True)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(1, 7)))

    stored = templates.one("CUSTOM_A")
    assert ({one.step for one in stored.template.steps}, stored.version) == ({f"s{n}" for n in range(7)}, 7)


def test_a_template_that_is_not_current_is_neither_changed_nor_deleted(templates: ManageTemplates) -> None:
    made = templates.create(written("A"), None)

    with refuses(TemplateChanged):
        templates.change(made.id, lambda _: written("B"), lambda stored: stored.version == 2)
    with refuses(TemplateChanged):
        templates.delete(made.id, lambda stored: stored.version == 2)

    assert templates.one(made.id) == made
