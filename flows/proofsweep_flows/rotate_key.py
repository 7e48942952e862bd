"""Replace the API key by a new one."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.app import App
from proofsweep.domain.errors import UsageError
from proofsweep_flows.ended_flow import ended_flow


@flow(name="rotate-key", retries=0, persist_result=False)
def rotate_key(
    environment: str,
    config: str | None = None,
    results: str | None = None,
    *,
    new_key_file: str | None = None,
    again: bool = False,
) -> State[Any]:
    """Rotate the key, or go on with a rotation that was interrupted; no key is a parameter or in a message.

    Args:
        environment: the label of the service's environment, again: it confirms that this key is meant.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        new_key_file: where the new key goes; None for the place of the old one.
        again: rotate a key that came from a rotation of the last 72 hours, too.
    """

    def work(app: App) -> State[Any]:
        if environment != app.environment:
            raise UsageError(f"The settings are of {app.environment}; nothing was rotated.")
        done = app.rotate_key(None if new_key_file is None else Path(new_key_file), again=again)
        return Completed(message=" ".join(done.lines()))

    return ended_flow(config, results, work)
