"""A server in this very process, over a small store."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from starlette.types import ASGIApp

from proofsweep.answers.serve.access import Access
from proofsweep.answers.serve.app import SiteApp
from proofsweep.answers.serve.site import Resumption, Site
from proofsweep.errors import ConfigError
from proofsweep.model.progress import LegProgress
from proofsweep.model.runs import Plan
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.read_only import read_only

from ...ended_runs import answered, end_leg, plan_of_run

TOKEN = "abcdefghijklmnop1234"
HOSTILE = "/c/<script>document.title='hacked'</script>\u202e\"'&\n"
ENDED = plan_of_run("20261119T020000Z_000aa", items=2, catalog=HOSTILE)
STOPPED = plan_of_run("20261120T020000Z_000aa", items=5, catalog="/c")
SITE = "http://localhost:8377"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A night that ended, with a hostile name, and one that was stopped."""
    results = Results(FolderStore(tmp_path / "results"))
    end_leg(results, ENDED, [answered(ENDED, row, str(row)) for row in range(2)])
    results.write_plan(STOPPED)
    Legs(results, STOPPED.run_id).claim(1)
    counts = {"accepted": 1, "remaining": 4, "run_id": STOPPED.run_id, "leg": 1}
    Legs(results, STOPPED.run_id).write_receipt(1, {"ended_by": "cancelled", "counts": counts})
    return results


def begin(results: Results, catalog: str = "/music", finished: int = 7, **facts: object) -> Plan:
    """Let this process work on a run, and tell how far it is."""
    now = datetime.now(UTC)
    plan = plan_of_run(f"{now:%Y%m%dT%H%M%SZ}_{now.microsecond // 1000:03}aa", items=20, catalog=catalog)
    results.write_plan(plan)
    Legs(results, plan.run_id).claim(1)
    beat(results, plan, finished, **facts)
    return plan


def beat(results: Results, plan: Plan, finished: int, **facts: object) -> None:
    """Tell how far a run is."""
    told = {"rows": plan.items, "finished_before": 0, "counts": {"accepted": finished}, "calls": 2 * finished}
    Legs(results, plan.run_id).beat(1, LegProgress(**told | facts))  # type: ignore[arg-type]  # the test's own words


@dataclass(slots=True)
class Deeds:
    """What was done through the pages."""

    stopped: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    by: str | None = "The Prefect deployment verify-catalog/nightly"
    trouble: str | None = None

    def stop(self, run_id: str) -> str:
        """Stop a run."""
        self.stopped.append(run_id)
        return "It was asked to stop."

    def who_resumes(self) -> str | None:
        """Say what resumes runs."""
        if self.trouble is not None:
            raise ConfigError(self.trouble)
        return self.by

    def resume(self, run_id: str) -> str:
        """Resume a run."""
        self.resumed.append(run_id)
        return "Prefect was asked."


@pytest.fixture
def deeds() -> Deeds:
    """Nothing was done yet."""
    return Deeds()


class Browser:
    """Keeps cookies, and follows no redirect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.cookies = httpx.Cookies()

    def request(self, method: str, path: str, **facts: object) -> httpx.Response:
        """Send a request, and take what the answer sets."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=SITE, cookies=self.cookies) as client:
                answer = await client.request(method, path, **facts)  # type: ignore[arg-type]  # the test's own words
                self.cookies = client.cookies
                return answer

        return asyncio.run(send())

    def get(self, path: str, **facts: object) -> httpx.Response:
        """Look at a page."""
        return self.request("GET", path, **facts)

    def post(self, path: str, **facts: object) -> httpx.Response:
        """Send a form."""
        return self.request("POST", path, **facts)


Serve = Callable[..., Browser]


@pytest.fixture
def serve(results: Results, deeds: Deeds) -> Serve:
    """Start a server with other access."""

    def start(token: str | None = None, *, guards_reading: bool = False) -> Browser:
        secret = None if token is None else SecretStr(token)
        site = Site(
            results=Results(read_only(results.store)),
            access=Access(token=secret, guards_reading=guards_reading),
            stop=deeds.stop,
            resumption=Resumption(by=deeds.who_resumes, begin=deeds.resume, command="proofsweep resume {}".format),
            pages=lambda run_id: f"<h1>page of {run_id}</h1>",
            overview=lambda: "<h1>overview</h1>",
        )
        return Browser(SiteApp(site).asgi)

    return start
