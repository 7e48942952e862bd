"""A run is resumed from the live pages through a Prefect deployment."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from proofsweep.answers.serve.site import Resumption
from proofsweep.errors import ConfigError
from proofsweep.settings import load_settings
from proofsweep_cli.resume_by_prefect import resumption_for

RUN = "20261120T020000Z_000aa"


@pytest.fixture
def deployed(api: httpx.Client) -> Iterator[str]:
    """A deployment without a worker, as a night has it."""
    flow = api.post("/flows/", json={"name": "verify-catalog"}).raise_for_status().json()["id"]
    facts = {"name": "from-a-page", "flow_id": flow, "parameters": {"catalog": "catalog", "max_age": "30d"}}
    made = api.post("/deployments/", json=facts).raise_for_status().json()["id"]
    yield str(made)
    api.delete(f"/deployments/{made}").raise_for_status()


@contextmanager
def asking(url: str) -> Iterator[None]:
    """Let Prefect's clients ask this server, whichever they were told of when they were imported."""
    from prefect.settings import PREFECT_API_URL, temporary_settings  # noqa: PLC0415 - Prefect reads its settings on import

    with temporary_settings({PREFECT_API_URL: url}):
        yield


def resumption(monkeypatch: pytest.MonkeyPatch, url: str, name: str = "from-a-page") -> Resumption:
    """Return how a server with these settings resumes runs."""
    monkeypatch.setenv("PREFECT_API_URL", url)
    monkeypatch.setenv("PROOFSWEEP_SERVE__DEPLOYMENT", f"verify-catalog/{name}")
    return resumption_for(load_settings("sandbox"), command=str)


def test_the_deployment_is_asked_for_a_run(
    prefect_url: str, api: httpx.Client, deployed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the run beside the deployment's own parameters; nothing else is sent."""
    resumed = resumption(monkeypatch, prefect_url)

    with asking(prefect_url):
        by, said = resumed.by(), resumed.begin(RUN)

    chosen = {"deployments": {"id": {"any_": [deployed]}}}
    (flow_run,) = api.post("/flow_runs/filter", json=chosen).raise_for_status().json()
    assert by == "The Prefect deployment verify-catalog/from-a-page"
    assert repr(flow_run["name"]) in said
    assert flow_run["parameters"] == {"catalog": "catalog", "max_age": "30d", "run_id": RUN}


def test_what_cannot_be_asked_is_told(prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without such a deployment there is nothing to ask; a server that is away is no reason to fail."""
    none = resumption(monkeypatch, prefect_url, "no-such")
    with asking(prefect_url):
        assert none.by() is None
        with pytest.raises(ConfigError, match="no deployment verify-catalog/no-such"):
            none.begin(RUN)

    away = resumption(monkeypatch, "http://127.0.0.1:9/api")
    with (
        asking("http://127.0.0.1:9/api"),
        pytest.raises(ConfigError, match="does not answer"),
    ):
        away.by()


def test_without_a_server_a_person_types_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect is not even imported."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)

    assert resumption_for(load_settings("sandbox"), command=str).by() is None
