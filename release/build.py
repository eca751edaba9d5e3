"""Build everything that a release publishes, from the last commit, so that anybody gets the same files again.

``./dev release [DIRECTORY]`` writes it to DIRECTORY, ``.build/release`` by default: wheels, source, chart, manual (man
pages and completions), documentation site, software bill of materials, images where an engine runs, and SHA256SUMS.
``--twice`` builds all but the images again and fails if a file differs.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / ".build" / "packaging" / "bin"
SHELLS = ("bash", "zsh", "fish")
BASE = "docker.io/library/python:3.11-slim-bookworm"


class Release:
    """One build: ``source`` is the committed tree, ``out`` the place of the results, ``epoch`` the commit's time."""

    def __init__(self, source: Path, out: Path, epoch: int) -> None:
        setup = ConfigParser()
        setup.read(source / "setup.cfg", encoding="utf-8")
        self.version = setup["metadata"]["version"]
        self.source, self.out, self.epoch = source, out, epoch
        self.day = datetime.fromtimestamp(epoch, UTC).date().isoformat()
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")},
            "SOURCE_DATE_EPOCH": str(epoch),
            "PYTHONHASHSEED": "0",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SHIPYARD_CHECKOUT": str(ROOT),
        }

    def build(self) -> None:
        """Write all files but the images."""
        for part in (self._source, self._wheels, self._chart, self._manual, self._site, self._bill):
            sys.stderr.write(f"  {part.__name__.removeprefix('_')} ...\n")
            part()
        sums = [
            f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(self.out.iterdir())
        ]
        (self.out / "SHA256SUMS").write_text("".join(sums))

    def _source(self) -> None:
        self._pack(f"shipyard-{self.version}-source", f"shipyard-{self.version}", self._files(self.source))

    def _wheels(self) -> None:
        # A copy, because building leaves files beside the sources.
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(self.source, copy, dirs_exist_ok=True)
            # setuptools itself, of the version that requirements.lock pins; the environment may have no pip.
            build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
            client = f"{copy}/shipyard_client"
            self._run(str(PACKAGING / "python"), f"{client}/generate.py", f"{copy}/schemas/openapi.yaml")
            for package in (copy, f"{copy}/shipyard_simulators", client):
                self._run(sys.executable, "-c", build, str(self.out.resolve()), place=package)

    def _chart(self) -> None:
        """Pack the chart as Helm does; `helm package` would write the time of the build."""
        chart = self.source / "charts" / "shipyard"
        self._run(str(PACKAGING / "helm"), "lint", "--strict", "--quiet", "--set", "existingSecret=s", str(chart))
        self._pack(f"shipyard-chart-{self.version}", "shipyard", self._files(chart))

    def _manual(self) -> None:
        sys.path.insert(0, str(self.source / "docs"))
        from cli_page import man_pages

        files = [(f"man/man1/{name}", text.encode()) for name, text in man_pages(self.version, self.day)]
        for shell in SHELLS:
            script = self._run(str(Path(sys.executable).with_name("shipyard")), "completion", shell)
            files.append((f"completions/shipyard.{shell}", script.encode()))
        self._pack(f"shipyard-{self.version}-manual", f"shipyard-{self.version}", files)

    def _site(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            self._run(sys.executable, str(self.source / "release" / "site.py"), place)
            self._pack(f"shipyard-{self.version}-site", self.version, self._files(Path(place)))

    def _bill(self) -> None:
        """Write what the image has installed, as CycloneDX; of pinned versions and hashes, not of an environment."""
        locks = [self.source / f"requirements{part}.lock" for part in ("", "-extras")]
        with tempfile.TemporaryDirectory() as place:
            pins = Path(place, "requirements.txt")
            pins.write_text("".join(lock.read_text(encoding="utf-8") for lock in locks))
            file = self.out / f"shipyard-{self.version}.cdx.json"
            words = ("requirements", "--output-reproducible", "--spec-version", "1.6", "--of", "JSON")
            self._run(str(PACKAGING / "cyclonedx-py"), *words, "--output-file", str(file), str(pins))

    def images(self) -> None:
        """Build both images by the digest of the base, and write them as archives. Needs a container engine."""
        index = self._run("docker", "buildx", "imagetools", "inspect", BASE, "--format", "{{.Manifest.Digest}}").strip()
        created = datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        revision = self._run("git", "-C", str(ROOT), "rev-parse", "HEAD").strip()
        arguments = {"BASE": f"{BASE}@{index}", "VERSION": self.version, "REVISION": revision, "CREATED": created}
        words = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        for target in ("shipyard", "demo"):
            file = self.out / f"{target}-{self.version}.oci.tar"
            output = f"type=oci,dest={file},rewrite-timestamp=true"
            self._run("docker", "buildx", "build", "--target", target, *words, "--output", output, str(self.source))

    def _files(self, folder: Path) -> Iterator[tuple[str, bytes]]:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()

    def _pack(self, name: str, folder: str, files: Iterable[tuple[str, bytes]]) -> None:
        """Write an archive in which only names and contents matter: no owner, no time but the commit's."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, content in sorted(files):
                entry = tarfile.TarInfo(f"{folder}/{path}")
                entry.size, entry.mtime = len(content), self.epoch
                entry.mode = 0o755 if content.startswith(b"#!") else 0o644
                archive.addfile(entry, io.BytesIO(content))
        (self.out / f"{name}.tgz").write_bytes(gzip.compress(packed.getvalue(), mtime=self.epoch))

    def _run(self, *words: str, place: str | None = None) -> str:
        done = subprocess.run(words, env=self._environment, cwd=place, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout


def main() -> int:
    """Build, compare if asked to; return the exit code."""
    words = sys.argv[1:]
    twice = "--twice" in words
    place = next((Path(word) for word in words if not word.startswith("-")), ROOT / ".build" / "release")
    os.umask(0o022)  # wheels keep the modes of files
    with _committed() as (source, epoch):
        out = _empty(place)
        Release(source, out, epoch).build()
        if twice:
            with tempfile.TemporaryDirectory() as again:
                Release(source, Path(again), epoch).build()
                differing = [one.name for one in sorted(out.iterdir()) if not _same(one, Path(again, one.name))]
            if differing:
                sys.stderr.write(f"not reproducible: {', '.join(differing)}\n")
                return 1
            sys.stderr.write("built twice: every file is the same\n")
        docker = shutil.which("docker")
        if docker and subprocess.run([docker, "version"], capture_output=True, check=False).returncode == 0:
            Release(source, out, epoch).images()
        else:
            sys.stderr.write("left out: images, because no container engine answers\n")
    sys.stdout.write((out / "SHA256SUMS").read_text())
    return 0


@contextmanager
def _committed() -> Iterator[tuple[Path, int]]:
    """Give the files of the last commit in a temporary directory, and the commit's time."""
    git = ["git", "-C", str(ROOT)]
    archive = subprocess.run([*git, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    when = subprocess.run([*git, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="shipyard-release-") as place:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(place, filter="data")
        yield Path(place), int(os.environ.get("SOURCE_DATE_EPOCH") or when)


def _empty(place: Path) -> Path:
    """Return the directory, without what an earlier build left there."""
    place.mkdir(parents=True, exist_ok=True)
    for file in place.iterdir():
        file.unlink()
    return place


def _same(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd[:4]))} ... failed with {error.returncode}")
