"""Node sets: what is read, what is refused before it costs anything, and how names are folded."""

import pytest

from shipyard_api.domain.node_sets import MOST, InvalidNodeSet, expand, fold, is_node_set
from tests.unit.tables import every_row

READ = {
    "a name that no range fits": (["rack 1:n/1"], ["rack 1:n/1"]),
    "a range": (["n[1-3]"], ["n1", "n2", "n3"]),
    "zeros are kept": (["n[08-11]"], ["n08", "n09", "n10", "n11"]),
    "ranges and numbers": (["n[1,3-4]"], ["n1", "n3", "n4"]),
    "a step": (["n[1-6/2]"], ["n1", "n3", "n5"]),
    "two dimensions": (["r[1-2]n[1-2]"], ["r1n1", "r1n2", "r2n1", "r2n2"]),
    "names beside ranges, each once": (["b,a[1-2],b", "a2,c"], ["b", "a1", "a2", "c"]),
    "as many as are accepted": ([f"n[1-{MOST}]"], [f"n{number}" for number in range(1, MOST + 1)]),
    "nothing": (["", ","], []),
}


@every_row(READ)
def test_what_is_read(texts: list[str], names: list[str]) -> None:
    assert list(expand(texts)) == names


REFUSED = {
    "more than are accepted": ("n[1-10001]", "expands to 10001 names"),
    "more than fit into memory": ("r[1-999999999]n[1-999999999]", "expands to 999999998000000001 names"),
    "the same ones, again and again": (",".join(["n[1-9999]"] * 1000), "expands to 19998 names"),
    "more digits than a number has": (f"n[1-{'9' * 5000}]", "is no node set"),
    "more dimensions than a name has characters": ("[1]a" * 300, "more than 253 characters"),
    "a group of nodes": ("@compute", "Node groups"),
    "a wildcard": ("n*", "wildcards"),
    "a difference": ("n[1-3]!n2", "operators"),
    "thousands of them": ("n[" * 50_000, "is no node set"),
    "a bracket that was not opened": ("n1]", "is no node set"),
    "digits of another script": ("n[１-２]", "is no node set"),
    "backwards": ("n[3-1]", "invalid values in range"),
    "a step of nothing": ("n[1-5/0]", "invalid values in range"),
    "numbers of two lengths": ("n[01-3]", "padding"),
    "brackets side by side": ("n[1-2][3-4]", "bracket"),
}


@every_row(REFUSED)
def test_what_is_refused(text: str, why: str) -> None:
    assert is_node_set(text)
    with pytest.raises(InvalidNodeSet, match=why) as refused:
        expand([text])
    assert len(str(refused.value)) < 400


FOLDED = {
    "one": (["n1"], "n1"),
    "some": (["n3", "n1", "n2", "n12"], "n[1-3,12]"),
    "two dimensions": ([f"r{r}n{n}" for r in range(1, 41) for n in range(1, 21)], "r[1-40]n[1-20]"),
    "different names": (["b1", "a1", "a2"], "a[1-2],b1"),
    "what no range fits stays": (["n1", "n2", "@x", "a b", "n[1"], "n[1-2],@x,a b,n[1"),
}


@every_row(FOLDED)
def test_folding(names: list[str], text: str) -> None:
    assert fold(names) == text
