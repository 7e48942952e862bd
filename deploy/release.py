# ruff: noqa: INP001, S603, S607 - a script, no package, which starts git, tar and hatchling
"""Build a release of the last commit: `python deploy/release.py FOLDER`.

Source and wheel, `sbom.json` (CycloneDX: what a full installation is made of), `licences.txt`,
and `SHA256SUMS`. Two builds of a commit are equal byte by byte: all times are the commit's, all versions the lock's.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from locked import NEEDED_BY, PACKAGE, locked, wanted
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parents[1]
_NOT_HERE = "not installed on the machine of the release: only other systems need it"


def build(folder: Path) -> None:
    """Write all files of a release into a folder; one that exists is replaced once all are there."""
    commit, seconds = git("log", "-1", "--format=%H %ct").decode().split()
    with TemporaryDirectory() as scratch:
        sources, made = Path(scratch, "sources"), Path(scratch, "made")
        sources.mkdir()
        subprocess.run(["tar", "--extract"], cwd=sources, input=git("archive", commit), check=True)
        command = [sys.executable, "-m", "hatchling", "build", "--directory", made]
        subprocess.run(command, cwd=sources, env=os.environ | {"SOURCE_DATE_EPOCH": seconds}, check=True)
        entries = entries_of_lock()
        sbom = sbom_of(entries, commit, datetime.fromtimestamp(int(seconds), UTC))
        (made / "sbom.json").write_text(sbom, encoding="utf-8")
        (made / "licences.txt").write_text(
            "\n".join(map(licence_text, dict.fromkeys(entry.name for entry in entries))), encoding="utf-8"
        )
        sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(made.iterdir())]
        (made / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)


def git(*arguments: str) -> bytes:
    """Run a command of Git in the checkout; return what it prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


class Locked(NamedTuple):
    """An entry of the lock; a package has several if other systems or Pythons need another version."""

    name: str
    version: str
    users: frozenset[str]

    @property
    def reference(self) -> str:
        """Return what stands for it within the SBOM."""
        return f"{self.name}=={self.version}"


def entries_of_lock() -> list[Locked]:
    """Return the locked packages of an installation with all extras."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lock = locked(wanted("product", *sorted(known.keys() - {"dev", "store"})), (ROOT / "requirements.lock").read_text())
    return [Locked(each[1], re.split(r"[= ;]+", each[0])[1], users_in(each[0])) for each in PACKAGE.finditer(lock)]


def users_in(entry: str) -> frozenset[str]:
    """Return the packages that need that of an entry of the lock, ours among them."""
    ours = {"proofsweep"} if "proofsweep (pyproject.toml)" in entry else set[str]()
    return frozenset(ours.union(NEEDED_BY.findall(entry)))


def sbom_of(entries: list[Locked], commit: str, when: datetime) -> str:
    """Write the packages as a CycloneDX document, each with its licence and what needs it."""
    version = distribution("proofsweep").version
    product = Component(name="proofsweep", version=version, type=ComponentType.APPLICATION, bom_ref="proofsweep")
    parts = [(entry, component_of(entry)) for entry in entries]
    bom = Bom(components=[part for _, part in parts], serial_number=uuid5(NAMESPACE_URL, commit))
    bom.metadata = BomMetaData(component=product, timestamp=when)
    for user, component in [("proofsweep", product), *((entry.name, part) for entry, part in parts)]:
        bom.register_dependency(component, [part for entry, part in parts if user in entry.users])
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def component_of(entry: Locked) -> Component:
    """Describe a package."""
    licence = licence_of(entry.name)
    return Component(
        name=entry.name,
        version=entry.version,
        bom_ref=entry.reference,
        purl=PackageURL("pypi", name=entry.name, version=entry.version),
        licenses=[] if licence is None else [LicenseFactory().make_from_string(licence)],
    )


def licence_of(name: str) -> str | None:
    """Return the licence that an installed package declares, in its own words; None if there is none here."""
    if (package := installed(name)) is None:
        return None
    declared = package.metadata
    classified = [each.rpartition(" :: ")[2] for each in declared.get_all("Classifier", []) if "License ::" in each]
    free = (declared.get("License") or "").strip().partition("\n")[0]
    return declared.get("License-Expression") or " AND ".join(classified) or free or None


def licence_text(name: str) -> str:
    """Return a package's licence and the texts that it ships."""
    texts = "\n\n".join(texts_of(name)) if installed(name) else _NOT_HERE
    return f"{'=' * 80}\n{name}: {licence_of(name) or 'no licence declared'}\n{'=' * 80}\n{texts}\n"


def texts_of(name: str) -> Iterator[str]:
    """Read the licence files of an installed package."""
    for file in sorted(distribution(name).files or []):
        if ".dist-info" in file.parts[0] and re.search(r"licen[cs]e|copying|notice|authors", file.name, re.IGNORECASE):
            yield file.read_text(encoding="utf-8").strip()


def installed(name: str) -> Distribution | None:
    """Return an installed package; None if it is not."""
    try:
        return distribution(name)
    except ModuleNotFoundError:
        return None


if __name__ == "__main__":
    build(Path(sys.argv[1]))
    if git("status", "--porcelain"):
        sys.stderr.write("What is not committed is not in the release.\n")
