"""The Dockerfile as a document; tests/containers build it."""

import json
import re
from fnmatch import fnmatch

import pytest

from .native_compose import ROOT, read_compose

TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
LINES = [line.split(maxsplit=1) for line in TEXT.splitlines() if line and not line.startswith("#")]
STAGES: dict[str, list[list[str]]] = {}
for line in LINES:
    if line[0] == "FROM":
        STAGES[line[1].partition(" AS ")[2]] = []
    STAGES[list(STAGES)[-1]].append(line)
SHIPPED = "proofsweep"
IGNORED = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]


def values(stage: str, instruction: str) -> list[str]:
    """Return the arguments of each instruction of a kind."""
    return [words for name, words in STAGES[stage] if name == instruction]


@pytest.mark.parametrize("stage", STAGES)
def test_bases_are_pinned(stage: str) -> None:
    """Each base image is an earlier stage, or has an exact version; it may have a digest."""
    (base,) = values(stage, "FROM")

    assert base.partition(" AS ")[0] in [*STAGES][: [*STAGES].index(stage)] or re.match(
        r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})? AS ", base
    )


def test_the_image_runs_without_rights_and_has_a_health_check() -> None:
    """The last USER is a number other than root's."""
    assert values(SHIPPED, "USER")[-1] == "10001:10001"
    assert len(values(SHIPPED, "HEALTHCHECK")) == 1
    assert "with-secrets" in json.loads(values(SHIPPED, "ENTRYPOINT")[0])


def test_no_secret_and_no_download_gets_into_a_layer() -> None:
    """No ADD, no build argument, no variable that sounds like a secret, no download by a command."""
    assert not [line for line in LINES if line[0] in {"ADD", "ARG"}]
    assert not re.search(r"curl |wget (?!-q -O /dev/null)|://(?!127\.0\.0\.1)", TEXT.replace('", "', " "))
    assert not [line for line in LINES if line[0] == "ENV" and re.search("KEY|SECRET|PASSWORD|TOKEN|AUTH", line[1])]


def test_copied_files_exist_and_are_sent_to_the_builder() -> None:
    """Each source is in the checkout, and .dockerignore, which excludes everything else, includes it."""
    copied = [words.split() for stage in STAGES for words in values(stage, "COPY") if "--from" not in words]
    sources = [word for words in copied for word in words[:-1] if not word.startswith("--")]

    assert IGNORED[0] == "*"
    for source in sources:
        assert (ROOT / source).exists()
        assert any(line.startswith("!") and fnmatch(source, line[1:]) for line in IGNORED)
    assert not [line for line in IGNORED if "secrets/" in line or line in {"!deploy", "!.git", "!.env"}]


def test_packages_are_checked_by_their_hashes() -> None:
    """Each download is checked by its hash; the other steps have no network access."""
    steps = [part for stage in STAGES for step in values(stage, "RUN") for part in step.split("&&")]
    installing = [step for step in steps if re.search(r"\bpip .*(install|wheel) ", step)]

    assert len(installing) == 4
    assert all("--require-hashes --" in step or "--no-index" in step for step in installing)
    assert all("--no-deps" in step for step in installing)
    assert not any(re.search(r"\bpip\b|\bapt", step) for step in values(SHIPPED, "RUN"))


def test_image_and_compose_file_agree() -> None:
    """An image by itself does the same as its service, except for the number of runs at once."""
    worker = read_compose({})["services"]["worker"]

    assert json.loads(values(SHIPPED, "CMD")[0]) == [word for word in worker["command"] if word not in {"--limit", "2"}]
    assert ["CMD", *json.loads(values(SHIPPED, "HEALTHCHECK")[0].removeprefix("CMD "))] == worker["healthcheck"]["test"]
