"""Where the API key is kept if the settings name a Prefect Secret block. Only a use imports Prefect, which is slow."""

from collections.abc import Callable
from contextvars import copy_context

from proofsweep.config.secret_places import shown_name
from proofsweep.domain.errors import ConfigError
from proofsweep_tasks.prefect_home import prefect_home


def read_block(name: str) -> str:
    import httpx  # noqa: PLC0415

    prefect_home()  # Prefect cannot be imported without one
    from prefect.blocks.system import Secret  # noqa: PLC0415
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415

    needs = "A Prefect Secret block needs a Prefect server that runs: set PREFECT_API_URL"
    if PREFECT_API_URL.value() is None:  # Prefect would start a server for this alone
        raise ConfigError(f"{needs}.")
    try:
        block = Secret.load(name)
    except ValueError as error:
        raise ConfigError(f"There is no Prefect Secret block {shown_name(name, 'the setting')}.") from error
    except (httpx.HTTPError, RuntimeError) as error:
        raise ConfigError(f"{needs} ({type(error).__name__}).") from error
    return str(block.get())  # type: ignore[union-attr]  # outside an event loop, load gives the block itself


def blocks_anywhere() -> Callable[[str], str]:
    """Return what reads blocks in threads that Prefect did not start: it asks the server that the caller knows."""
    here = copy_context()
    return lambda name: here.copy().run(read_block, name)
