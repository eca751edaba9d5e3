"""The Dockerfile, linted. Where an engine runs, .ci/image.py builds the image and starts it."""

import re
import shlex
import sys
import tarfile
from fnmatch import fnmatch
from pathlib import Path

from tests.packaging.conftest import ROOT, Run

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STAGES = re.split(r"^(?=FROM )", DOCKERFILE.replace("\\\n", " "), flags=re.MULTILINE)[1:]


def test_the_dockerfile_passes_its_linter(run: Run) -> None:
    assert run("hadolint", "--failure-threshold", "style", ROOT / "Dockerfile") == ""


def test_the_image_is_the_last_stage_and_takes_only_the_installation() -> None:
    names = [stage.split("\n")[0].split()[-1] for stage in STAGES]
    assert names == ["build", "build-demo", "slim", "base", "demo", "shipyard"]

    *_, demo, image = STAGES

    assert re.findall(r"^(?:COPY|RUN|ADD) .*", image, re.MULTILINE) == ["COPY --from=slim /opt/shipyard /opt/shipyard"]
    assert "COPY --from=build-demo" in demo


def test_packages_are_installed_by_hash_and_before_the_sources_that_change() -> None:
    build = STAGES[0]
    installs = re.findall(r"pip install (.*)", build)

    assert installs == [
        "--require-hashes -r requirements.lock -r requirements-extras.lock",
        "--no-deps --no-build-isolation .",
    ]
    assert build.index("--require-hashes") < build.index("COPY shipyard_api")


def test_everything_that_is_copied_goes_to_the_builder() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = [line[1:] for line in ignore if line.startswith("!")]
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
        for source in shlex.split(line)[:-1]
    }

    assert copied == set(allowed)
    assert [source for source in copied if not (ROOT / source).exists()] == []


def test_the_wheel_holds_the_product_and_nothing_else(tmp_path: Path, run: Run) -> None:
    """Built from the committed files, as a release is."""
    run("git", "-C", ROOT, "archive", "--output", tmp_path / "source.tar", "HEAD")
    with tarfile.open(tmp_path / "source.tar") as archive:
        archive.extractall(tmp_path / "source", filter="data")
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    run(sys.executable, "-c", build, tmp_path, cwd=tmp_path / "source")
    (wheel,) = tmp_path.glob("*.whl")

    names = run(sys.executable, "-m", "zipfile", "--list", wheel).splitlines()[1:]

    expected = (
        *("shipyard_api/*.py", "shipyard_api/py.typed", "shipyard_api/adapters/ironic/steps.json"),
        *("shipyard_api/adapters/ssh/supervisor.sh", "shipyard_api/api/dashboard/static/*"),
        *("shipyard-*.dist-info/*", "shipyard-*.data/data/share/shipyard/*"),
    )
    assert [one for one in names if not any(fnmatch(one.split()[0], pattern) for pattern in expected)] == []
    # 1.5 MB of 3.9 MB unpacked; a megabyte more would be something that does not belong there.
    assert wheel.stat().st_size < 2_000_000
