"""A directory with a settings file for each site."""

from __future__ import annotations

from pathlib import Path

import pytest

from shipyard_api.wiring.settings import Settings, SettingsError
from shipyard_api.wiring.site_files import load_process, load_sites

DATABASE = "[database]\nurl = postgresql://shipyard@127.0.0.1/{}\n"


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / f"{name}.conf").write_text(text)


def faults(directory: Path) -> dict[str, str]:
    found = load_sites(str(directory)).items()
    return {name: str(settings) for name, settings in found if isinstance(settings, SettingsError)}


def test_a_directory_without_files_has_no_sites(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("none")
    (tmp_path / ".hidden.conf").write_text("none")

    assert load_sites(str(tmp_path)) == {}


def test_sites_have_the_names_of_their_files_and_nothing_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIPYARD_PROVISIONER_KIND", "maas")
    write(tmp_path, oslo=DATABASE.format("oslo"), berlin=DATABASE.format("berlin"))
    sites = load_sites(str(tmp_path))

    assert list(sites) == ["berlin", "oslo"]
    assert all(isinstance(one, Settings) and one.provisioner.kind == "drydock" for one in sites.values())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "[database] url is not set"),
        ("[nothing]\nat = all\n", "there is no section [nothing]"),
        ("no section", "no section headers"),
        (DATABASE.format("a") + "[log]\nlevel = DEBUG\n", "SHIPYARD_LOG_LEVEL belongs to the process"),
        (DATABASE.format("a") + "[api]\nthreads = 2\n", "SHIPYARD_API_THREADS belongs to the process"),
        (DATABASE.format("a") + "[traces]\nendpoint = http://x\n", "SHIPYARD_TRACES_ENDPOINT belongs to the process"),
    ],
)
def test_a_faulty_file_harms_only_its_site(tmp_path: Path, text: str, fault: str) -> None:
    write(tmp_path, sick=text, well=DATABASE.format("well"))

    assert list(faults(tmp_path)) == ["sick"]
    assert fault in faults(tmp_path)["sick"]


@pytest.mark.parametrize("name", ["Berlin", "-a", "a-", "a_b", "a" * 64])
def test_a_name_that_is_none_is_a_fault(tmp_path: Path, name: str) -> None:
    write(tmp_path, **{name: DATABASE.format("a")})

    assert "a site's name has" in faults(tmp_path)[name]


def test_a_database_belongs_to_one_site(tmp_path: Path) -> None:
    same = DATABASE.format("one").replace("127.0.0.1", "127.0.0.1:5432")
    write(tmp_path, a=DATABASE.format("one"), b=same, c=DATABASE.format("two"))

    assert list(faults(tmp_path)) == ["a", "b"]


def test_the_process_has_no_database_and_needs_the_directory(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL is set"):
        load_process({"SHIPYARD_CONFIG": "/dev/null", "DATABASE_URL": "postgresql://a/b"})
    with pytest.raises(SettingsError, match="No such file"):
        load_sites(str(tmp_path / "none"))
