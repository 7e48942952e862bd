"""Resume a run from a page: through a Prefect deployment where there is one, else by a command that a person types."""

from collections.abc import Callable

from proofsweep.answers.serve.site import Resumption
from proofsweep.settings import Settings
from proofsweep_cli.embedded_server import configured_url


def resumption_for(settings: Settings, command: Callable[[str], str]) -> Resumption:
    """Return how a server resumes runs; Prefect is imported when somebody wants to, since that takes seconds."""
    name = settings.serve.deployment

    def by() -> str | None:
        if configured_url() is None:
            return None
        from proofsweep_tasks.deployed_flow import is_deployed  # noqa: PLC0415 - see above

        return f"The Prefect deployment {name}" if is_deployed(name) else None

    def begin(run_id: str) -> str:
        from proofsweep_tasks.deployed_flow import run_deployed  # noqa: PLC0415 - see above

        return f"Prefect was asked to resume the run, as its flow run {run_deployed(name, {'run_id': run_id})!r}."

    return Resumption(by=by, begin=begin, command=command)
