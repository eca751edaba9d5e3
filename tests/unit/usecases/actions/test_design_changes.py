"""Where changed values were written: one place for all documents that take a value from it."""

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import DocumentRef
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import Impact, NodeImpact
from shipyard_api.domain.specification.kinds import Aspect
from shipyard_api.usecases.actions.design_changes import _EXPLAINED, DesignChanges, ValueChange, with_written
from tests.designs import KIND, POLICY, in_layer, stored

PARENT = {"role": "parent"}
MANY = [f"n{number:03}" for number in range(100)]


def changes(*names: str, path: str = "/data/image") -> DesignChanges:
    documents = [DocumentRef(KIND, name, path=path) for name in names]
    nodes = {NodeName(name): NodeImpact(Impact.REINSTALL, ("image",)) for name in names}
    return DesignChanges(nodes, [ValueChange(Aspect.IMAGE, "image", "1", "2", documents, list(nodes))])


def written(found: DesignChanges) -> list[tuple[str, str]]:
    (value,) = found.values
    return [(place.stored.document.name, place.path) for place in value.written]


def test_a_change_in_a_parent_of_a_hundred_is_one_place() -> None:
    parent = in_layer("global", "parent", {"image": 2}, labels=PARENT, abstract=True)
    documents = stored(POLICY, parent, *(in_layer("site", name, {"own": name}, parent=PARENT) for name in MANY))
    asked: list[int] = []
    found = with_written(changes(*MANY), Revision(2), lambda revision: asked.append(revision) or documents)
    assert written(found) == [("parent", "/data/image")]
    assert asked == [2]
    assert len(MANY) > _EXPLAINED


def test_each_document_that_writes_a_value_itself_is_named() -> None:
    documents = stored(POLICY, *(in_layer("site", name, {"image": 2}) for name in ("a", "b")))
    assert written(with_written(changes("a", "b"), Revision(2), lambda _: documents)) == [
        ("a", "/data/image"),
        ("b", "/data/image"),
    ]


def test_a_value_that_is_gone_was_written_nowhere_and_nothing_is_read_without_a_change() -> None:
    documents = stored(POLICY, in_layer("site", "a", {}))
    assert written(with_written(changes("a"), Revision(2), lambda _: documents)) == []
    nothing = DesignChanges({})
    assert with_written(nothing, Revision(2), lambda _: 1 / 0) is nothing  # type: ignore[return-value, arg-type]
