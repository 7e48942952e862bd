"""Replace the API key by a new one."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.bootstrap.keys import rotate_key as rotate
from proofsweep.errors import ProofsweepError, UsageError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.rotated_keys import lines_of_rotation
from proofsweep.settings import load_settings
from tasks.end_states import state_of_error
from tasks.key_block import BLOCKS
from tasks.known_ends import log_known_ends_on_one_line


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
    set_up_logs()
    log_known_ends_on_one_line()
    try:
        settings = load_settings(config, results)
        if environment != settings.service.environment:
            raise UsageError(f"The settings are of {settings.service.environment}; nothing was rotated.")
        path = None if new_key_file is None else Path(new_key_file)
        done = rotate(settings, BLOCKS, new_key_file=path, again=again)
    except ProofsweepError as error:
        return state_of_error(error)
    return Completed(message=" ".join(lines_of_rotation(done.rotation, done.place, was_done=done.was_done)))
