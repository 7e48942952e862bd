# ruff: noqa: INP001 - a script, no package
"""Create or update our automations at the Prefect server: they run dead flow runs again, and tell somebody.

    python deploy/automations.py --slack FILE --webhook FILE --email KEY_FILE --from ADDRESS --to ADDRESS

Each FILE holds one secret. Without a receiver only those of the first kind are made. See docs/alerts.md.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import httpx
from prefect import get_client
from prefect.blocks.core import Block
from prefect.blocks.notifications import (
    CustomWebhookNotificationBlock,
    NotificationBlock,
    SendgridEmail,
    SlackWebhook,
)
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowFilter, FlowFilterName
from prefect.client.schemas.responses import DeploymentResponse
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.server.schemas.schedules import SCHEDULE_TYPES, CronSchedule
from prefect.utilities.urls import url_for
from pydantic import SecretStr, TypeAdapter

from proofsweep.alerts.events import CRASHED, EVENTS, FLOWS, SUCCESSES, AlertKind, AlertRule
from proofsweep.alerts.messages import LOOK_ALIKES
from proofsweep_tasks.crash_automations import OF_DEPLOYMENTS, OUR_FLOWS, crash_automations

BLOCK = "proofsweep-alerts"
MADE_BY = "Made by deploy/automations.py."

# Chosen: less than a day, so that each night is told of; hourly runs that all end alike tell it once a day. Half tells
# it twice, twice leaves out every other night.
ONCE_IN = timedelta(hours=20)

# Rows that remain after each night of a large catalog are what was to be expected. Chosen: a reminder each week; half
# tells it in every week twice, twice may come when nobody remembers.
ONCE_A_WEEK = timedelta(days=6, hours=20)

# Of a schedule's longest gap. Chosen: a night may take half a day longer than the one before; at once each late end
# alarms, at twice two nights are lost before somebody knows.
GAPS_WITHOUT_SUCCESS = 1.5
# Chosen: a schedule of minutes misses some while its deployment is updated; half alarms then, twice tells it later.
LEAST_WITHOUT_SUCCESS = timedelta(hours=1)

# Times of a schedule that are looked at: of one of every ten minutes by day they cover a weekend.
TIMES = 1_000

# Waits before a request that failed is sent again: a server on SQLite answers 503 while its database is locked. Chosen:
# a minute in all; the server's own writes take seconds.
WAITS_SECONDS = (1, 3, 8, 20, 28)

_HARMLESS = "".join(
    f" | replace({json.dumps(letter)}, {json.dumps(other)})"
    for letter, other in {"\n": " ", "\r": " ", **LOOK_ALIKES}.items()
)


def quoted(expression: str) -> str:
    """Write an expression of a template as a code span that foreign text cannot leave."""
    return f"`{{{{ {expression} | string | truncate(600, true){_HARMLESS} }}}}`"


# Chosen: twice is an accident of a bad night; what crashes three times more has a reason of its own.
MOST_TIMES_AGAIN = 3
# Chosen: a typing error must not spend a quota.
MOST_TIMES_ALLOWED = 20


def automations(
    blocks: list[UUID], deployments: Iterable[DeploymentResponse] = (), again: int = MOST_TIMES_AGAIN
) -> Iterator[AutomationCore]:
    """Yield all automations; each that tells something sends it to all blocks."""
    yield from crash_automations(again)
    if not blocks:
        return
    for kind, event in EVENTS.items():
        if event.states:
            yield of_states(kind, event, blocks)
    for deployment in deployments:
        if gap := longest_gap(deployment):
            yield without_success(deployment, max(gap * GAPS_WITHOUT_SUCCESS, LEAST_WITHOUT_SUCCESS), blocks)
    yield of_events(blocks)


def of_states(kind: AlertKind, event: AlertRule, blocks: list[UUID]) -> AutomationCore:
    """Tell that a deployment's flow run is in one of some states: once in 20 hours, or a week, for each state."""
    body = (
        f"Flow run {quoted('flow_run.name')} of {quoted('deployment.name')}: {{{{ flow_run.state.name }}}}.\n"
        f"It said: {quoted('flow_run.state.message')}\n"
        f"If nobody acts: {event.unattended}\n"
        f"To do: {event.advice}\n"
        "{% if flow.name == 'verify-catalog' %}Counts and reasons: its artifact, on its page.\n{% endif %}"
        f"See: {page_of_flow_run()}"
    )
    return AutomationCore(
        name=f"proofsweep: tell of {kind}",
        description=MADE_BY,
        trigger=EventTrigger(
            posture=Posture.Reactive,
            match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=[OUR_FLOWS, OF_DEPLOYMENTS],
            for_each={"related:deployment:prefect.resource.id", "prefect.state-name"},
            expect={f"prefect.flow-run.{state}" for state in event.states if state != CRASHED},  # it is run again first
            within=ONCE_A_WEEK if kind is AlertKind.ROWS_REMAIN else ONCE_IN,
        ),
        actions=notifications(f"proofsweep: {event.title} ({{{{ flow_run.state.name }}}})", body, blocks),
    )


def page_of_flow_run() -> str:
    """Return the page of the flow run, for a template; without an address of the UI, the command that shows the run.

    The server itself often does not know its address; whoever runs this script does (`PREFECT_UI_URL`, or the API's).
    """
    address = url_for("flow-run", obj_id=UUID(int=0))
    if address is None:
        return "prefect flow-run inspect {{ flow_run.id }}"
    return address.replace(str(UUID(int=0)), "{{ flow_run.id }}")


def longest_gap(deployment: DeploymentResponse) -> timedelta | None:
    """Measure the longest time between two runs of a deployment; None if none is scheduled."""
    now = datetime.now(UTC)
    schedules = [each.schedule.model_dump() for each in deployment.schedules if each.active]
    times = [time for schedule in schedules for time in times_of(schedule, now)]
    return max((later - earlier for earlier, later in pairwise(sorted(times))), default=None)


def times_of(schedule: dict[str, object], now: datetime) -> list[datetime]:
    """List the next times of a schedule; the server's own class knows them."""
    known: CronSchedule = TypeAdapter(SCHEDULE_TYPES).validate_python(schedule)
    return list(asyncio.run(known.get_dates(TIMES, start=now)))


def without_success(deployment: DeploymentResponse, longest: timedelta, blocks: list[UUID]) -> AutomationCore:
    """Tell that no run of a deployment has done its work for so long; again each time as long."""
    hours = f"{longest.total_seconds() / 3600:g}"
    body = (
        f"No run of the deployment `{deployment.name}` has done its work for {hours} hours.\n"
        f"To do: {EVENTS[AlertKind.NO_SUCCESS].advice}"
    )
    return AutomationCore(
        name=f"proofsweep: tell of no successful run of {deployment.name}",
        description=MADE_BY,
        trigger=EventTrigger(
            posture=Posture.Proactive,
            match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=ResourceSpecification(
                {
                    "prefect.resource.role": "deployment",
                    "prefect.resource.id": f"prefect.deployment.{deployment.id}",
                }
            ),
            expect={f"prefect.flow-run.{state}" for state in SUCCESSES},
            threshold=1,
            within=longest,
        ),
        actions=notifications(f"proofsweep: no successful run for {hours} hours", body, blocks),
    )


def of_events(blocks: list[UUID]) -> AutomationCore:
    """Send on what flows found and what no state tells; the flow has made its text harmless, and tells it once."""
    return AutomationCore(
        name="proofsweep: send alerts on",
        description=MADE_BY,
        trigger=EventTrigger(
            posture=Posture.Reactive,
            match=ResourceSpecification({"prefect.resource.id": "proofsweep.alert.*"}),
            for_each={"prefect.resource.id"},
            expect={f"proofsweep.alert.{kind}" for kind in SENT_ON},
        ),
        actions=notifications("{{ event.payload.subject }}", "{{ event.payload.body }}", blocks),
    )


SENT_ON = [
    kind for kind, event in EVENTS.items() if not event.states and kind not in {AlertKind.TEST, AlertKind.NO_SUCCESS}
]
"""Alerts of a flow that are sent on as events, because no state and no missing state tells them."""


def notifications(subject: str, body: str, blocks: list[UUID]) -> list[SendNotification]:
    """Send one message to all blocks."""
    return [SendNotification(block_document_id=block, subject=subject, body=body) for block in blocks]


def blocks_of(options: argparse.Namespace) -> Iterator[UUID]:
    """Save a block for each receiver that is given; load those that exist."""
    if options.slack:
        yield saved(SlackWebhook(url=SecretStr(secret_in(options.slack))))
    if options.webhook:
        yield saved(
            CustomWebhookNotificationBlock(
                name=BLOCK,
                url="{{url}}",  # it may hold a secret, and Prefect shows this field to everybody
                secrets={"url": secret_in(options.webhook)},
                json_data={"subject": "{{subject}}", "body": "{{body}}"},
            )
        )
    if options.email:
        key = SecretStr(secret_in(options.email))
        yield saved(SendgridEmail(api_key=key, sender_email=options.sender, to_emails=options.to))
    for name in options.block:
        yield Block.load(name)._block_document_id  # noqa: SLF001 - Prefect's own way to learn it


def saved(block: NotificationBlock) -> UUID:
    """Save a block, over an earlier one of its kind."""
    return block.save(BLOCK, overwrite=True)


def secret_in(file: Path) -> str:
    """Read a file that holds one secret."""
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SystemExit(f"automations: {file} cannot be read ({error.strerror})") from None
    if not secret or len(secret.split()) > 1:
        raise SystemExit(f"automations: {file} must hold one line")
    return secret


def apply(client: SyncPrefectClient, wanted: Iterable[AutomationCore]) -> None:
    """Create what is missing at the server, and update what has the same name; one after another."""
    for automation in wanted:
        for wait_seconds in (*WAITS_SECONDS, None):
            try:
                apply_one(client, automation)
                break
            except httpx.HTTPError:
                if wait_seconds is None:
                    raise
                time.sleep(wait_seconds)


def apply_one(client: SyncPrefectClient, automation: AutomationCore) -> None:
    """Create or update one automation; of several with its name, as a lost answer leaves them, delete the others."""
    found = client.read_automations_by_name(automation.name)
    if found:
        client.update_automation(found[0].id, automation)
    else:
        client.create_automation(automation)
    for other in found[1:]:
        client.delete_automation(other.id)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Let Prefect run dead flow runs again, and tell somebody of what needs one."
    )
    parser.add_argument("--slack", type=Path, metavar="FILE", help="holds the URL of a Slack webhook")
    parser.add_argument("--webhook", type=Path, metavar="FILE", help="holds a URL that takes JSON: subject, body")
    parser.add_argument("--email", type=Path, metavar="FILE", help="holds a key of SendGrid")
    parser.add_argument("--from", dest="sender", metavar="ADDRESS", help="who sends the e-mail")
    parser.add_argument("--to", action="append", default=[], metavar="ADDRESS", help="who gets it; may be repeated")
    parser.add_argument(
        "--block", action="append", default=[], metavar="TYPE/NAME", help="a notification block of Prefect that exists"
    )
    parser.add_argument(
        "--again",
        type=int,
        default=MOST_TIMES_AGAIN,
        metavar="N",
        help="how often a flow run that crashed is run again (%(default)s); 0 for never",
    )
    options = parser.parse_args()
    if not 0 <= options.again <= MOST_TIMES_ALLOWED:
        parser.error(f"--again is a number from 0 to {MOST_TIMES_ALLOWED}")
    if options.email and not (options.sender and options.to):
        parser.error("--email needs --from and --to")
    return options


if __name__ == "__main__":
    given = read_options()
    receivers = list(blocks_of(given))
    of_our_flows = FlowFilter(name=FlowFilterName(any_=list(FLOWS)))
    with get_client(sync_client=True) as server:
        apply(server, automations(receivers, server.read_deployments(flow_filter=of_our_flows), given.again))
