"""What a Prefect server has planned, and its workers, by its API; Prefect's own client takes seconds to load."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx

from proofsweep.answers.overview.values import FlowSchedule, FlowWorker, UpcomingRun
from proofsweep.errors import ConfigError
from proofsweep.settings import config_and_account
from proofsweep_cli.embedded_server import configured_url, headers, name_and_password

# Bounds what a server that hangs may cost. Chosen: it answers in milliseconds.
_ANSWER_SECONDS = 1.0
# Chosen: the next runs of some hundred deployments; Prefect gives at most so many at once.
_MOST_RUNS = 200


def prefect_schedule() -> FlowSchedule | None:
    """Ask the configured Prefect server; None if there is none. What goes wrong is said in the schedule."""
    try:
        url = configured_url()
        if url is None:
            return None
        with httpx.Client(base_url=url, timeout=_ANSWER_SECONDS, headers=headers(), auth=name_and_password()) as client:
            return FlowSchedule(upcoming=list(_upcoming(client)), workers=list(_workers(client)))
    except ConfigError as error:
        return FlowSchedule(trouble=error.message)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        return FlowSchedule(trouble=f"The Prefect server does not say what is next ({type(error).__name__}).")


def _upcoming(client: httpx.Client) -> Iterator[UpcomingRun]:
    """Yield the scheduled flow runs of deployments, the earliest first."""
    names = {each["id"]: str(each["name"]) for each in _read(client, "/deployments/filter", {"limit": _MOST_RUNS})}
    asked = {
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        "sort": "EXPECTED_START_TIME_ASC",
        "limit": _MOST_RUNS,
    }
    for run in _read(client, "/flow_runs/filter", asked):
        if run.get("deployment_id") in names and run.get("expected_start_time"):
            given = run.get("parameters") or {}
            catalog = given.get("catalog") or given.get("folder")
            yield UpcomingRun(
                at=_instant(run["expected_start_time"]),
                deployment=names[run["deployment_id"]],
                account=config_and_account(given.get("config"))[1],
                catalog=catalog.rstrip("/") if isinstance(catalog, str) else None,
            )


def _workers(client: httpx.Client) -> Iterator[FlowWorker]:
    for pool in _read(client, "/work_pools/filter", {}):
        for worker in _read(client, f"/work_pools/{pool['name']}/workers/filter", {}):
            beaten = worker.get("last_heartbeat_time")
            yield FlowWorker(
                name=worker["name"], pool=pool["name"], beaten_at=None if beaten is None else _instant(beaten)
            )


def _read(client: httpx.Client, path: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    answer = client.post(path, json=asked)
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()
    return found


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
