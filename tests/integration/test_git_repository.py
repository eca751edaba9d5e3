"""Reading trees with the real git: nothing in a repository runs, and no address shows its password."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.adapters.git import Directory, GitOptions, Reference
from shipyard_api.adapters.git import Repository as Address
from shipyard_api.adapters.git.repository import GitRepository
from shipyard_api.ports.documents import BrokenTree
from shipyard_api.ports.errors import Unavailable
from tests.git_repository import Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    return Repository.new(tmp_path / "upstream")


def source(url: str, *, max_bytes: int = 200_000, timeout: float = 30.0, **options: Any) -> GitRepository:
    return GitRepository(GitOptions(url=Address(url), timeout_seconds=timeout, **options), max_bytes)


def test_yaml_files_of_the_branch_come_by_their_paths(upstream: Repository) -> None:
    upstream.commit(b_yaml="b: 1\n", sites__lab__a_yaml="a: 1\n", README="no\n", **{".github__ci_yaml": "no: 1\n"})
    first = source(upstream.url)
    commit = first.head()
    assert dict(first.tree(commit)) == {"b.yaml": b"b: 1\n", "sites/lab/a.yaml": b"a: 1\n"}
    assert dict(source(upstream.url, path=Directory("/sites/")).tree(commit)) == {"lab/a.yaml": b"a: 1\n"}


def test_a_removed_file_is_gone_and_a_forced_push_is_another_commit(upstream: Repository) -> None:
    upstream.commit(a_yaml="a: 1\n", b_yaml="b: 1\n")
    gone = upstream.commit(b_yaml=None)
    assert list(source(upstream.url).tree(gone)) == ["a.yaml"]
    forced = upstream.commit("--amend", a_yaml="a: 2\n")
    assert source(upstream.url).head() == forced != gone
    with pytest.raises(Unavailable, match="has moved to"):
        source(upstream.url).tree(gone)


def test_branches_and_both_kinds_of_tags_have_the_commit_of_the_tree(upstream: Repository) -> None:
    commit = upstream.commit(a_yaml="a: 1\n")
    upstream.git("tag", "light")
    upstream.git("tag", "--annotate", "--message=release", "v1")
    upstream.git("branch", "x/main")  # ls-remote would also find it by its last part
    upstream.commit(a_yaml="a: 2\n")
    for name in ("light", "v1", "x/main", "refs/tags/v1"):
        followed = source(upstream.url, ref=Reference(name))
        assert followed.head() == commit
        assert dict(followed.tree(commit)) == {"a.yaml": b"a: 1\n"}


def _link(upstream: Repository) -> None:
    (upstream.directory / "out.yaml").symlink_to("/etc/passwd")


def _submodule(upstream: Repository) -> None:
    upstream.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},other")


def _large(upstream: Repository) -> None:
    (upstream.directory / "big.yaml").write_text("a: " + "x" * 300_000)


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        pytest.param(_link, "out.yaml is a symbolic link", id="link out of the tree"),
        pytest.param(_submodule, "other is a submodule", id="submodule"),
        pytest.param(_large, "at most 200,000 are read .* the largest is big.yaml", id="large file that packs small"),
    ],
)
def test_a_tree_that_cannot_be_a_design_is_broken(
    upstream: Repository, plant: Callable[[Repository], None], why: str
) -> None:
    upstream.commit(a_yaml="a: 1\n")
    plant(upstream)
    if plant is not _submodule:
        upstream.git("add", "--all")
    upstream.git("commit", "--quiet", "--message=change")
    with pytest.raises(BrokenTree, match=why):
        source(upstream.url).tree(source(upstream.url).head())


def test_a_commit_that_packs_larger_than_a_design_is_broken(upstream: Repository) -> None:
    upstream.commit(a_yaml="a: 1\n", disk=bytes(hash((i, "x")) % 256 for i in range(400_000)))
    with pytest.raises(BrokenTree, match="packs larger than 20,000 bytes"):
        source(upstream.url, max_bytes=20_000).tree(source(upstream.url).head())


def test_a_missing_directory_is_broken(upstream: Repository) -> None:
    commit = upstream.commit(a_yaml="a: 1\n")
    with pytest.raises(BrokenTree, match="there is no directory sites"):
        source(upstream.url, path=Directory("sites")).tree(commit)


def test_hooks_and_filters_of_a_repository_do_nothing(upstream: Repository, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (upstream.directory / ".gitattributes").write_text("*.yaml filter=evil\n")
    upstream.git("config", "filter.evil.smudge", f"touch {ran}")
    for hook in ("post-checkout", "pre-auto-gc", "reference-transaction"):
        script = upstream.directory / ".git" / "hooks" / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {ran}-{hook}\n")
    commit = upstream.commit(a_yaml="a: 1\n")
    assert dict(source(upstream.url).tree(commit)) == {"a.yaml": b"a: 1\n"}
    assert not list(tmp_path.glob("ran*"))


def test_a_remote_without_an_answer_is_named_without_its_password(tmp_path: Path, upstream: Repository) -> None:
    with pytest.raises(Unavailable, match="there is no branch or tag main"):
        source(upstream.url).head()
    with pytest.raises(Unavailable, match="does not appear to be a git repository"):
        source(f"file://{tmp_path}/gone").head()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"https://ann:s3cret@127.0.0.1:{silent.getsockname()[1]}/site.git"
        with pytest.raises(Unavailable, match="no answer within"):
            source(address, timeout=0.5).head()
    with pytest.raises(Unavailable) as refused:
        source(address).head()
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in repr(GitOptions(url=Address(address)))


def test_an_ssh_host_that_is_not_known_is_refused(tmp_path: Path, upstream: Repository, monkeypatch: Any) -> None:
    """The ssh here is a script that writes how it was called: the enforcing is OpenSSH's."""
    called = tmp_path / "called"
    (tmp_path / "ssh").write_text(f'#!/bin/sh\necho "$@" >{called}\nexit 255\n')
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    known = tmp_path / "known hosts"
    with pytest.raises(Unavailable, match="Could not read from remote repository"):
        source("ssh://git@example.org/site.git", known_hosts=str(known), key="/keys/site").head()
    options = called.read_text()
    for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", f"UserKnownHostsFile={known}", "-i /keys/site"):
        assert option in options


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Address, "http://example.org/site.git"),
        (Address, "git@example.org:site.git"),
        (Address, "ext::sh -c touch% x"),
        (Address, "https://example.org"),
        (Reference, "--upload-pack=touch"),
        (Reference, "a..b"),
        (Directory, "../other"),
    ],
)
def test_what_would_be_an_option_or_another_transport_is_no_setting(kind: type, text: str) -> None:
    with pytest.raises(ValueError, match=r"no|not"):
        kind(text)
