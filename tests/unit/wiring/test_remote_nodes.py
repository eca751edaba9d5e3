"""What runs tasks on nodes, by the settings, and everything that is wrong with what they say."""

from pathlib import Path

import pytest

from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.documents import BAREMETAL_NODE, Document
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, Primaries
from shipyard_api.domain.task_graph.site_plan import SiteRun, plan_site
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.wiring import remote_nodes
from shipyard_api.wiring.settings import SettingsError, load
from tests.task_graphs import task


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> str:
    import asyncssh

    file: Path = tmp_path_factory.mktemp("ssh") / "key"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(file))
    return str(file)


def settings(**given: str) -> dict[str, str]:
    return {f"SHIPYARD_SSH_{name}".upper(): value for name, value in given.items()}


def faults(**given: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        remote_nodes.remote_tasks(load(settings(**given)))
    return caught.value.faults


def test_without_a_key_nothing_runs_on_nodes() -> None:
    assert remote_nodes.remote_tasks(load({})) is None


def test_a_key_with_its_files_is_enough(key: str) -> None:
    given = {"key_file": key, "known_hosts": "/dev/null", "network": "mgmt", "port": "65535"}
    assert faults(**given) == ["[ssh] known_hosts: there is no file /dev/null"]
    given["known_hosts"] = key  # any file
    with pytest.raises(SettingsError):
        remote_nodes.remote_tasks(load(settings(**given)))
    given["known_hosts"] = str(Path(key).with_name("known_hosts"))
    Path(given["known_hosts"]).write_text("")
    assert isinstance(remote_nodes.remote_tasks(load(settings(**given, jump_host="a@b:2222"))), SshRemoteTasks)


def test_every_fault_is_reported(key: str) -> None:
    assert faults(key_file=key, port="70000", jump_host="a@b:c") == [
        "[ssh] known_hosts: needed together with key_file",
        "[ssh] network: needed together with key_file",
        "[ssh] port: 70000 is above 65535",
        "[ssh] jump_host: 'a@b:c' is not a host; write it as user@host:port",
    ]
    assert faults(key_file="/none", known_hosts="/none", network="n") == [
        "[ssh] key_file: there is no file /none",
        "[ssh] known_hosts: there is no file /none",
    ]
    assert faults(known_hosts=key) == ["[ssh] known_hosts: needs key_file, which is not set"]


def test_a_file_to_copy_may_be_missing_where_a_task_of_the_master_runs_before(key: str) -> None:
    known = Path(key).with_name("known_hosts")
    known.write_text("")
    given = {"key_file": key, "known_hosts": str(known), "network": "mgmt", "files": str(known.parent)}
    access = remote_nodes.access(load(settings(**given)))

    def copy(name: str, source: str, **fields: object) -> dict[str, object]:
        return task(name, type="copy_files", role="*", parameters={"files": [{"src": source, "dst": "/a"}]}, **fields)

    later = {"requires": ["make"]}
    entries = [
        task("make", role="master"),
        copy("there", key),
        copy("missing", "none"),
        copy("made", "none", **later),
        copy("outside", "/etc/none", **later),
        copy("each", "{NODE}"),
    ]
    nodes = (ClusterNode(NodeName("n1"), ("web",), ready=True),)
    found = access.sources(plan_site(SiteRun(entries, nodes, Primaries(), "new")))

    why = "none in the directory of [ssh] files: No such file or directory"
    assert {(one.level, one.message) for one in found} == {
        (Level.ERROR, f"Task 'missing': {why}."),
        (Level.WARNING, f"Task 'made': {why}; a task of the master that runs before may make it."),
        (Level.ERROR, "Task 'outside': /etc/none is not in the directory of [ssh] files."),
    }


def test_a_node_is_reached_at_its_address_in_the_network() -> None:
    design = [
        Document(BAREMETAL_NODE, "n1", "site", {}, {"addressing": [{"network": "mgmt", "address": "10.0.0.1"}]}),
        Document(BAREMETAL_NODE, "n2", "site", {}, {}),
    ]
    found, missing = remote_nodes.hosts(load(settings(network="mgmt", port="2222")), design)
    assert found == {"n1": Host("n1", "10.0.0.1", 2222)}
    assert missing == {
        "n2": "it has no address in the network 'mgmt'; its networks: none",
        MASTER: "[ssh] master does not name the host of tasks with the role master",
    }
    found, missing = remote_nodes.hosts(load(settings(network="mgmt", master="192.0.2.1")), design)
    assert (found[MASTER], set(missing)) == (Host(MASTER, "192.0.2.1"), {"n2"})
