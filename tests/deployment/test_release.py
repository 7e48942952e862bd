"""What `make release` builds."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from .native_compose import ROOT


def release(folder: Path, **variables: str) -> dict[str, bytes]:
    """Build a release; return its files."""
    command = [sys.executable, "-W", "error", ROOT / "deploy" / "release.py", folder]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | variables)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release of the last commit."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    release(folder)
    return folder


def test_two_builds_are_equal_byte_by_byte(released: Path, tmp_path: Path) -> None:
    """Neither the hour, nor the zone, nor the rights of new files are in a release."""
    umask = os.umask(0o077)
    try:
        again = release(tmp_path / "dist", TZ="Asia/Tokyo", LC_ALL="C.UTF-8", SOURCE_DATE_EPOCH="1")
    finally:
        os.umask(umask)

    assert again == {file.name: file.read_bytes() for file in released.iterdir()}


def test_checksums_cover_all_files(released: Path) -> None:
    """And the usual program accepts them."""
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=released, check=True, capture_output=True)
    named = re.findall(r"^[0-9a-f]{64}  (\S+)$", (released / "SHA256SUMS").read_text(), re.MULTILINE)

    assert {*named, "SHA256SUMS"} == {file.name for file in released.iterdir()}
    assert sum(name.endswith((".whl", ".tar.gz")) for name in named) == 4


def test_the_sbom_names_what_the_lock_installs(released: Path) -> None:
    """Each package of an installation with all extras, its version and its licence, and what needs it."""
    extras = ["aws", "azure", "dask", "gcp", "pandas", "postgresql", "report", "sandbox"]
    command = [sys.executable, ROOT / "deploy" / "locked.py", "product", *extras]
    lock = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sbom = json.loads((released / "sbom.json").read_text())

    parts = {(part["name"], part["version"]): part for part in sbom["components"]}

    assert (sbom["bomFormat"], sbom["metadata"]["component"]["name"]) == ("CycloneDX", "proofsweep")
    assert parts.keys() == {*re.findall(r"^(\S+?)==([^\s;]+)", lock, re.MULTILINE)}
    assert [name for (name, _), part in parts.items() if "licenses" not in part] == [
        "async-timeout",
        "pywin32",
        "whenever",
    ]
    needs = {each["ref"]: each.get("dependsOn", []) for each in sbom["dependencies"]}
    assert any(each.startswith("prefect==") for each in needs["proofsweep"])
    assert {*needs} - {"proofsweep"} == {part["bom-ref"] for part in parts.values()}


def test_the_licences_of_all_packages_are_there_with_their_texts(released: Path) -> None:
    """Some licences demand that their text goes along."""
    text = (released / "licences.txt").read_text()

    assert re.search(r"^prefect: Apache", text, re.MULTILINE)
    assert text.count("Permission is hereby granted, free of charge") > 20


def test_the_wheel_is_that_of_the_sources(released: Path, tmp_path: Path) -> None:
    """Who builds from the source archive gets the same wheel."""
    with tarfile.open(next(released.glob("proofsweep-*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (sources,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path]
    subprocess.run(command, cwd=sources, check=True, capture_output=True)

    (built,), (shipped,) = tmp_path.glob("*.whl"), released.glob("proofsweep-*.whl")
    assert digests(built) == digests(shipped)


def digests(wheel: Path) -> dict[str, int]:
    """Return the checksum of each file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}
