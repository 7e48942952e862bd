"""Run a flow through its deployment, on whatever worker that has."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx
from prefect import get_client
from prefect.client.orchestration import SyncPrefectClient
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from proofsweep.errors import ConfigError

# Bounds each question to the server; a person waits for the answer. Chosen: any value from 5 to 30 does.
_ASK_SECONDS = 10.0


def is_deployed(name: str) -> bool:
    """Whether Prefect has a deployment, named `flow/deployment`; ConfigError if its server does not answer."""
    try:
        with _server() as client:
            client.read_deployment_by_name(name)
    except ObjectNotFound:
        return False
    return True


def run_deployed(name: str, parameters: Mapping[str, str]) -> str:
    """Ask for a run of a deployment with parameters beside its own, and return the name of the flow run.

    ConfigError if there is no such deployment, or the server does not take it.
    """
    try:
        with _server() as client:
            deployment = client.read_deployment_by_name(name)
            return client.create_flow_run_from_deployment(deployment.id, parameters=dict(parameters)).name
    except ObjectNotFound as error:
        raise ConfigError(f"Prefect has no deployment {name}.") from error


@contextmanager
def _server() -> Iterator[SyncPrefectClient]:
    once = temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0})
    try:
        with once, get_client(sync_client=True, httpx_settings={"timeout": _ASK_SECONDS}) as client:
            yield client
    except ObjectNotFound:
        raise
    except (httpx.HTTPError, PrefectException) as error:  # its text may show an address with credentials
        raise ConfigError(f"The Prefect server does not answer ({type(error).__name__}).") from None
