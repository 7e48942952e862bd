# ruff: noqa: INP001 - a script, no package
"""Let Prefect tell somebody: save notification blocks, and create or update the automations that use them.

    python deploy/alert_automations.py --slack FILE --webhook FILE --email KEY_FILE --from ADDRESS --to ADDRESS

Each FILE holds one secret. See docs/alerts.md.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from prefect import get_client
from prefect.blocks.core import Block
from prefect.blocks.notifications import (
    CustomWebhookNotificationBlock,
    NotificationBlock,
    SendgridEmail,
    SlackWebhook,
)
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from pydantic import SecretStr

from proofsweep.domain.alerts.messages import LOOK_ALIKES, AlertKind

BLOCK = "proofsweep-alerts"

# Chosen: less than a day, so that each night is told of; hourly runs that all end alike tell it once a day. Half tells
# it twice, twice leaves out every other night.
ONCE_IN = timedelta(hours=20)

# Rows that remain after each night of a large catalog are what was to be expected. Chosen: a reminder each week; half
# tells it in every week twice, twice may come when nobody remembers.
ONCE_A_WEEK = timedelta(days=6, hours=20)

# Chosen: one missed night is told by its own state; the second one in a row is not far when 36 hours are over.
LONGEST_WITHOUT_SUCCESS = timedelta(hours=36)

FLOWS = ["verify-catalog", "check-ingest", "check-alerts"]

ADVICE = {
    ("QuotaSpent", "WindowClosed"): "nothing, if the rest may wait: the deployment's next run resumes it.",
    ("KeyRefused",): "put the right key in place, and try it with `proofsweep doctor`; the next run resumes.",
    (
        "Outage",
    ): "nothing at first: the next run resumes. If it stays, report request IDs of `exchanges` to the partner.",
    ("SomeFailed", "AllFailed"): "see the reasons in the artifact; then verify these files with `proofsweep redrive`.",
    ("Failed", "TimedOut"): "see the message, and `proofsweep doctor`; the next run resumes what remains.",
    ("NotMoved",): "make room at the target, or give the right to write there; the next pass moves what remains.",
    ("Crashed",): "see whether the worker and its machine are well; the next run resumes what remains.",
    ("Late",): "start a worker: no worker has taken this run in time, see `prefect work-pool inspect proofsweep`.",
}
"""What to do about the states in which a flow run ends, or does not begin."""

TOLD_BY_STATES = {
    AlertKind.ROWS_REMAIN,
    AlertKind.SOME_FAILED,
    AlertKind.ALL_FAILED,
    AlertKind.NOT_BEGUN,
    AlertKind.KEY_REFUSED,
    AlertKind.NO_SUCCESS,
    AlertKind.NOT_MOVED,
    AlertKind.TEST,
}
"""Alerts of a flow that are not sent on as events, because states, or their absence, tell the same."""

_HARMLESS = "".join(
    f" | replace({json.dumps(letter)}, {json.dumps(other)})"
    for letter, other in {"\n": " ", "\r": " ", **LOOK_ALIKES}.items()
)


def quoted(expression: str) -> str:
    """Write an expression of a template as a code span that foreign text cannot leave."""
    return f"`{{{{ {expression} | string | truncate(600, true){_HARMLESS} }}}}`"


def automations(blocks: list[UUID], nightly: str = "nightly") -> Iterator[AutomationCore]:
    """Give all automations; each sends to all blocks."""
    for states, advice in ADVICE.items():
        yield of_states(states, advice, blocks)
    yield without_success(nightly, blocks)
    yield of_events(blocks)


def of_states(states: tuple[str, ...], advice: str, blocks: list[UUID]) -> AutomationCore:
    """Tell that a flow run is in one of some states: once in 20 hours, or a week, for each deployment and state."""
    body = (
        f"Flow run {quoted('flow_run.name')} of {quoted('deployment.name')}: {{{{ flow_run.state.name }}}}.\n"
        f"It said: {quoted('flow_run.state.message')}\n"
        f"To do: {advice}\n"
        "Counts, reasons and the place of the tables: artifact `proofsweep-summary` of {{ flow_run | ui_url }}"
    )
    return AutomationCore(
        name=f"proofsweep: tell of {' and '.join(states)}",
        description="Made by deploy/alert_automations.py.",
        trigger=EventTrigger(
            posture=Posture.Reactive,
            match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": FLOWS}),
            for_each={"related:deployment:prefect.resource.id", "prefect.state-name"},
            expect={f"prefect.flow-run.{state}" for state in states},
            within=ONCE_A_WEEK if "QuotaSpent" in states else ONCE_IN,
        ),
        actions=notifications("proofsweep: a flow run is {{ flow_run.state.name }}", body, blocks),
    )


def without_success(
    deployment: str, blocks: list[UUID], longest: timedelta = LONGEST_WITHOUT_SUCCESS
) -> AutomationCore:
    """Tell that no run of a deployment has done its work for so long; again each time as long."""
    hours = f"{longest / timedelta(hours=1):g}"
    body = (
        f"No run of the deployment `{deployment}` has done its work for {hours} hours.\n"
        "To do: see its schedule, the worker and the last flow runs; then `proofsweep doctor`."
    )
    return AutomationCore(
        name="proofsweep: tell of nights without a successful run",
        description="Made by deploy/alert_automations.py.",
        trigger=EventTrigger(
            posture=Posture.Proactive,
            match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=ResourceSpecification(
                {"prefect.resource.role": "deployment", "prefect.resource.name": deployment}
            ),
            expect={f"prefect.flow-run.{state}" for state in ("Completed", "SomeFailed", "QuotaSpent", "WindowClosed")},
            threshold=1,
            within=longest,
        ),
        actions=notifications(f"proofsweep: no successful run for {hours} hours", body, blocks),
    )


def of_events(blocks: list[UUID]) -> AutomationCore:
    """Send on what flows found and what no state tells; the flow has made its text harmless, and tells it once."""
    return AutomationCore(
        name="proofsweep: send alerts on",
        description="Made by deploy/alert_automations.py.",
        trigger=EventTrigger(
            posture=Posture.Reactive,
            match=ResourceSpecification({"prefect.resource.id": "proofsweep.alert.*"}),
            for_each={"prefect.resource.id"},
            expect={f"proofsweep.alert.{kind}" for kind in AlertKind if kind not in TOLD_BY_STATES},
        ),
        actions=notifications("{{ event.payload.subject }}", "{{ event.payload.body }}", blocks),
    )


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
        raise SystemExit(f"alert_automations: {file} cannot be read ({error.strerror})") from None
    if not secret or len(secret.split()) > 1:
        raise SystemExit(f"alert_automations: {file} must hold one line")
    return secret


def apply(wanted: Iterator[AutomationCore]) -> None:
    """Create what is missing at the server, and update what has the same name."""
    with get_client(sync_client=True) as client:
        for automation in wanted:
            found = client.read_automations_by_name(automation.name)
            if found:
                client.update_automation(found[0].id, automation)
            else:
                client.create_automation(automation)


def read_options() -> argparse.Namespace:
    """Read the command line; it must name somebody."""
    parser = argparse.ArgumentParser(description="Let Prefect tell somebody of flow runs that need a person.")
    parser.add_argument("--slack", type=Path, metavar="FILE", help="holds the URL of a Slack webhook")
    parser.add_argument("--webhook", type=Path, metavar="FILE", help="holds a URL that takes JSON: subject, body")
    parser.add_argument("--email", type=Path, metavar="FILE", help="holds a key of SendGrid")
    parser.add_argument("--from", dest="sender", metavar="ADDRESS", help="who sends the e-mail")
    parser.add_argument("--to", action="append", default=[], metavar="ADDRESS", help="who gets it; may be repeated")
    parser.add_argument(
        "--block", action="append", default=[], metavar="TYPE/NAME", help="a notification block of Prefect that exists"
    )
    parser.add_argument("--nightly", default="nightly", metavar="NAME", help="the deployment that must succeed")
    options = parser.parse_args()
    if not (options.slack or options.webhook or options.email or options.block):
        parser.error("name at least one receiver")
    if options.email and not (options.sender and options.to):
        parser.error("--email needs --from and --to")
    return options


if __name__ == "__main__":
    given = read_options()
    apply(automations(list(blocks_of(given)), given.nightly))
