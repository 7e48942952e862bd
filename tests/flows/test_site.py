"""A run brings the site up to date, and is none the worse if that fails."""

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld


def test_a_run_updates_the_site_and_ends_well_without_it(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run finds a folder with other files in the place of the site: one line says so."""
    catalog, folder = world.manifest(samples.valid[:3]), world.folder / "site"
    monkeypatch.setenv("PROOFSWEEP_REPORT__SITE", str(folder))

    first = world.run("verify", catalog)
    text = (folder / "files" / "index.js").read_text("utf-8")
    (folder / "site.json").unlink()
    second = world.run("verify", catalog)

    assert (first, second) == (0, 0)
    assert '"files":3' in text.replace(" ", "")
    assert len(list((folder / "nights").glob("2*.html"))) == 1
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "site" in line)
    assert line.endswith(f"{folder} holds other files, and is no site. Name a new or an empty folder.")
