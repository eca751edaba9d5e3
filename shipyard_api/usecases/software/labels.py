"""Roles and tags of releases and clusters: list, create, change, delete (seed 002, REST API)."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject, are_texts
from shipyard_api.domain.task_graph.errors import InvalidDeclaration, LabelExists, LabelNotFound, LabelReadOnly
from shipyard_api.domain.task_graph.layers import Label, Layer, Owner
from shipyard_api.domain.task_graph.tasks import Domain
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.software.owners import below, change_kept_out, own_layer, save_layer

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_WORDS = {Domain.ROLES: "role", Domain.TAGS: "tag"}


class OwnedLabel(Struct, frozen=True):
    """A role or tag with what declares it: ``owned`` by the release or cluster itself, or by the release below it."""

    name: str
    label: Label
    owned: bool


class ManageLabels(Struct, frozen=True):
    """The use cases. Each raises OwnerNotFound."""

    store: Store

    def all(self, owner: Owner, domain: Domain) -> Sequence[OwnedLabel]:
        """Return the roles or tags of a release, or those that a cluster has from its release and of its own."""
        layer, under = self.store.read(lambda tx: (own_layer(tx.software, owner), below(tx.software, owner)))
        mine = layer.labels(domain)
        return [OwnedLabel(name, label, name in mine) for name, label in layer.over(under).labels(domain).items()]

    def one(self, owner: Owner, domain: Domain, name: str) -> Label:
        """Return a role or tag that the owner itself declares; raises LabelNotFound."""
        return _found(self.store.read(lambda tx: own_layer(tx.software, owner)), owner, domain, name)

    def create(self, owner: Owner, domain: Domain, name: object, meta: object) -> Label:
        """Declare a role or tag. Raises InvalidDeclaration and LabelExists.

        A cluster may declare what its release has as well; its own declaration counts.
        """
        label = Label(check_label(domain, name, meta))
        with self.store.begin() as tx:
            tx.software.lock()
            layer = own_layer(tx.software, owner)
            if name in layer.labels(domain):
                raise LabelExists(domain, str(name), owner)
            _check(layer.over(below(tx.software, owner)), domain, str(name), label)
            save_layer(tx.software, owner, _with(layer, domain, str(name), label))
        return label

    def change(self, owner: Owner, domain: Domain, name: str, meta: object) -> tuple[Label, Sequence[Finding]]:
        """Store other properties of a role or tag; return it, and warnings. Nodes keep the tags that they have.

        A cluster declares a role or tag of its release with these properties for itself. Raises LabelNotFound,
        LabelReadOnly for a predefined tag, and InvalidDeclaration.
        """
        with self.store.begin() as tx:
            tx.software.lock()
            layer = own_layer(tx.software, owner)
            merged = layer.over(below(tx.software, owner))
            before = _found(merged, owner, domain, name)
            _check_writable(domain, name, before)
            label = Label(check_label(domain, name, meta), before.predefined and name in layer.labels(domain))
            _check(merged, domain, name, label)
            save_layer(tx.software, owner, _with(layer, domain, name, label))
            return label, change_kept_out(tx, owner)

    def delete(self, owner: Owner, domain: Domain, name: str) -> None:
        """Remove a role or tag; a tag also from the roles of its owner.

        Raises LabelNotFound, LabelReadOnly for a predefined tag, and LabelInUse.
        """
        with self.store.begin() as tx:
            tx.software.lock()
            layer = own_layer(tx.software, owner)
            _check_writable(domain, name, _found(layer, owner, domain, name))
            labels = {declared: label for declared, label in layer.labels(domain).items() if declared != name}
            layer = layer.with_labels(domain, labels)
            if domain is Domain.TAGS and not layer.over(below(tx.software, owner)).knows(domain, name):
                layer = replace(
                    layer, roles={role_name: _without(role, name) for role_name, role in layer.roles.items()}
                )
            save_layer(tx.software, owner, layer)


def check_label(domain: Domain, name: object, meta: object) -> JsonObject:
    """Return the properties of a role or tag; raises InvalidDeclaration. A role without ``tags`` gives none."""
    word = _WORDS[domain]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidDeclaration(f"The name of a {word} is 1 to 64 letters, digits, or any of . _ : -")
    if name.startswith("primary-"):
        raise InvalidDeclaration(f"A {word} cannot be named '{name}': this means the primary node of a {word}.")
    if not isinstance(meta, dict):
        raise InvalidDeclaration(f"The {word} '{name}' has no 'meta' object with its properties.")
    needs_primary = domain is Domain.TAGS or "has_primary" in meta
    if needs_primary and not isinstance(meta.get("has_primary"), bool):
        raise InvalidDeclaration(f"'has_primary' of the {word} '{name}' is not true or false.")
    for key in ("tags", "tasks") if domain is Domain.ROLES else ():
        names = meta.get(key, [])
        if not are_texts(names):
            raise InvalidDeclaration(f"'{key}' of the role '{name}' is not a list of names.")
    return meta


def check_role_tags(name: str, role: Label, tags: Mapping[str, Label]) -> None:
    """Raise InvalidDeclaration if the role gives tags that do not exist."""
    if missing := [tag for tag in role.tags if tag not in tags]:
        raise InvalidDeclaration(f"Role {name} contains non-existent tag {', '.join(missing)}")


def _check(layer: Layer, domain: Domain, name: str, label: Label) -> None:
    if domain is Domain.ROLES:
        check_role_tags(name, label, layer.tags)


def _found(layer: Layer, owner: Owner, domain: Domain, name: str) -> Label:
    if name not in layer.labels(domain):
        raise LabelNotFound(domain, name, owner)
    return layer.labels(domain)[name]


def _check_writable(domain: Domain, name: str, label: Label) -> None:
    if domain is Domain.TAGS and label.predefined:
        raise LabelReadOnly(name)


def _with(layer: Layer, domain: Domain, name: str, label: Label) -> Layer:
    return layer.with_labels(domain, {**layer.labels(domain), name: label})


def _without(role: Label, tag: str) -> Label:
    return replace(role, meta={**role.meta, "tags": [tag_name for tag_name in role.tags if tag_name != tag]})
