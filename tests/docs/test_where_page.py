"""The noun of a feature is the name of its files in every layer (docs/reference/where-things-are.md)."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

import pytest

from tests.conftest import ROOT

# Layers where no file or folder has just the noun, because what is there is a part of the feature. May only shrink.
QUALIFIED = {
    ("Assignment of roles", "ports"),
    ("Etcd", "domain"),
    ("Etcd", "usecases"),
    ("Expected hardware", "cli"),
    ("OpenID Connect", "wiring"),
    ("Pulled designs", "actions"),
    ("Rollout policy", "adapters"),
    ("Rollout policy", "cli"),
    ("Sites", "actions"),
    ("Sites", "domain"),
    ("Sites", "storage"),
    ("Sites", "wiring"),
    ("Teardown", "api"),
    ("Teardown", "cli"),
    ("Teardown", "ports"),
    ("Teardown", "storage"),
    ("Teardown", "usecases"),
    ("Tokens", "wiring"),
}


@pytest.fixture(scope="module")
def page() -> Any:
    """The generator of the page, which is no part of the product."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("where_page")
    finally:
        sys.path.pop(0)


def test_each_layer_calls_a_feature_by_its_noun(page: Any) -> None:
    product = [path.relative_to(ROOT) for path in sorted((ROOT / page.PRODUCT).rglob("*.py"))]
    qualified = set()
    for feature in page.FEATURES:
        forms = {noun + ending for noun in feature.nouns for ending in ("", "s", "es")}
        found = page.layers(feature, product)
        assert found, f"{feature.title}: no file has this name"
        for layer, entries in found.items():
            names = {PurePosixPath(part).stem for entry in entries for part in PurePosixPath(entry).parts}
            if names.isdisjoint(forms):
                qualified.add((feature.title, layer))
    assert qualified == QUALIFIED


def test_each_feature_has_a_page_for_those_who_use_it(page: Any) -> None:
    missing = [one.title for one in page.FEATURES if not (ROOT / "docs" / "howto" / f"{one.howto}.md").is_file()]
    assert missing == []
