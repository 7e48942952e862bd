"""`proofsweep proofs`: the proofs that the service holds under this key, listed, recovered and erased."""

from collections.abc import Iterator
from http import HTTPStatus
from itertools import count
from pathlib import Path

import typer
from rich.table import Table

from proofsweep.app import App
from proofsweep.config.notices import say
from proofsweep.domain.errors import CallFailed, UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.models import ProofSummary
from proofsweep.domain.text import counted
from proofsweep.operations.erase import DISPOSABLE, ProofList, erase_proofs, names_of, read_proof_list
from proofsweep.operations.inventory import inventory_proofs, newest_proofs
from proofsweep.operations.notes import refresh_notes
from proofsweep.operations.recover import recover_sidecars
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode, code_of_error
from proofsweep_cli.options import MaxCalls
from proofsweep_cli.screen import styled, table
from proofsweep_tasks.stop_on_signals import stopped_on_signals

_SHOWN = 50  # proofs that are shown without --limit
proofs_group = typer.Typer(no_args_is_help=True)


@proofs_group.command("list")
@with_request(without="results")
def show_list(
    request: CommandRequest,
    limit: int = typer.Option(_SHOWN, "--limit", metavar="N", min=1, help="Show the newest N proofs."),
) -> int:
    """List the newest proofs under this key. Nothing is stored; a keyed call for each hundred.

    Pending proofs are never listed.

    Example: `proofsweep proofs list --limit 10`
    """
    proofs = request.app.service.answer(lambda partner: newest_proofs(partner, limit))
    documents = [proof.model_dump() for proof in proofs]
    request.answer({"proofs": documents}, _lines_of_list(proofs))
    return ExitCode.ACCEPTED


@proofs_group.command()
@with_request(without="results")
def show(
    request: CommandRequest,
    proof_id: str = typer.Argument(metavar="PROOF_ID", help="The proof."),
) -> int:
    """Show what the service says of one proof; one keyed call. The sidecar itself is not shown.

    Example: `proofsweep proofs show 5f0c…`
    """
    app = request.app
    try:
        proof = app.service.answer(lambda partner: partner.proof(proof_id))
    except CallFailed as failed:
        if failed.status != HTTPStatus.NOT_FOUND:
            raise
        gone = f"No such proof is held under this key (404); request ID {failed.request_id}."
        raise UsageError(gone) from failed
    song = proof.song or "unknown"
    classification = proof.classification or "none"
    lines = [f"song: {song}", f"classification: {classification} (report-only)"]
    document: dict[str, object] = {"song": proof.song, "classification": proof.classification}
    # Without the sidecar's wire name, nobody can tell whether the answer holds one.
    if app.settings.service.sidecar_field is not None:
        has_sidecar = proof.sidecar is not None
        document["has_sidecar"] = has_sidecar
        state = "held; proofs recover writes it" if has_sidecar else "none"
        lines.append(f"sidecar: {state}")
    request.answer(document, lines)
    return ExitCode.ACCEPTED


@proofs_group.command()
@with_request()
def inventory(request: CommandRequest) -> int:
    """List all proofs into the table `proofs`, and reconcile them with each item's newest answer.

    A keyed call for each hundred proofs. The exit code is 3 if a listed classification or issuedAt differs from the
    answer.

    Example: `proofsweep proofs inventory --config production`
    """
    with stopped_on_signals(request.app):
        done = inventory_proofs(request.app.operations())
    title = styled(done.line, "bold")
    reasons = "pending, was erased, belongs to another partner, or was issued while the list was read"
    unlisted = f"  A proof that is not listed is {reasons}."
    query = request.command("query", f"FROM proofs WHERE operation_id = '{done.operation_id}'")
    request.answer(done.document(), [title, unlisted, ("  all of them:", query)])
    if done.counts.get("differs"):
        return ExitCode.REJECTED
    return ExitCode.ACCEPTED


@proofs_group.command()
@with_request()
def erase(
    request: CommandRequest,
    proof_ids: list[str] | None = typer.Argument(None, metavar="[PROOF_ID]...", help="Proofs to erase."),
    *,
    file: Path | None = typer.Option(
        None, "--from", metavar="FILE", help="A file with an ID on each line, or a CSV file with a column proof_id."
    ),
    yes_erase: int | None = typer.Option(
        None, "--yes-erase", metavar="N", help="Erase; N must be the exact number of proofs."
    ),
    environment: str | None = typer.Option(
        None, "--environment", metavar="LABEL", help="With --yes-erase, outside sandbox and beta: the environment."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only list the proofs, with the files that are known."),
) -> int:
    """Let the service erase proofs and all that it has of them, for good. This cannot be undone.

    Files of an erased proof are `unregistered` from then on. A proof that is named twice counts once. Each answer is
    recorded before the next proof is asked for; if the command is interrupted, run it again. Uses one keyed call for
    each proof.

    Examples: `proofsweep proofs erase --from withdrawn.csv --dry-run` ·
    `proofsweep proofs erase --from withdrawn.csv --yes-erase 12 --environment production`
    """
    app = request.app
    wanted = read_proof_list(proof_ids or [], file)
    if dry_run:
        _list_files(request, wanted)
        return ExitCode.ACCEPTED
    _refuse_other_words(app, wanted, yes_erase, environment)
    return _erase(request, wanted)


@proofs_group.command()
@with_request()
def recover(
    request: CommandRequest,
    below: str = typer.Argument("", metavar="[BELOW]", help="Only items whose audio is this file, or in this folder."),
    *,
    to: str | None = typer.Option(None, "--to", metavar="PREFIX", help="Write below this folder or bucket prefix."),
    max_calls: int | None = MaxCalls,
) -> int:
    """Write the sealed sidecars of items whose own are missing; no file is overwritten.

    A keyed call for each sidecar that is missing. Without --to, nothing is written where the audio is gone. The exit
    code is 3 if a proof is gone, 4 if a sidecar could not be had, and 8 if folders are away.

    Example: `proofsweep proofs recover --to recovered`
    """
    with stopped_on_signals(request.app):
        done = recover_sidecars(request.app.operations(max_calls), below, to)
    request.answer(done.document(), done.line.splitlines())
    if done.counts.get("away"):
        return ExitCode.BREAKER
    if done.counts.get("failed"):
        return ExitCode.FAILED
    if done.counts.get("gone"):
        return ExitCode.REJECTED
    return ExitCode.ACCEPTED


@proofs_group.command()
@with_request()
def notes(request: CommandRequest, max_calls: int | None = MaxCalls) -> int:
    """Ask for the process notes of accepted proofs that have no ready one, and keep them in `interpretations`.

    Each note is asked for once; a pending one again the next time. Notes are report-only: they change no verdict. The
    exit code is 4 if a note could not be had, and 5 or 6 if calls ran out.

    Example: `proofsweep proofs notes --max-calls 2000 --config production`
    """
    with stopped_on_signals(request.app):
        done = refresh_notes(request.app.operations(max_calls))
    request.answer(done.document(), [done.line])
    if done.counts.get("failed"):
        return ExitCode.FAILED
    return ExitCode.ACCEPTED


def _lines_of_list(proofs: list[ProofSummary]) -> Iterator[str | Table]:
    listed = table("issued (UTC)", "classification", "proof", "song")
    for proof in proofs:
        issued = ""
        if proof.issued_at is not None:
            issued = f"{proof.issued_at:%Y-%m-%d %H:%M}"
        listed.add_row(issued, proof.classification or "", proof.proof_id or "", proof.song or "")
    yield listed
    count = counted(len(proofs), "proof")
    yield f"{count}, the newest first; pending ones are never listed."


def _list_files(request: CommandRequest, wanted: ProofList) -> None:
    """List the proofs that would be erased, with the files that the results store knows."""
    app = request.app
    names = names_of(app.results, app.environment, wanted)
    documents = []
    lines = []
    for proof_id in wanted.proof_ids:
        file = names.get(proof_id, "no file of this results store")
        documents.append({"proof_id": proof_id, "file": names.get(proof_id)})
        lines.append(f"{proof_id}  {file}")
    lines.append(f"Would erase {_what(app, wanted)}. Nothing was asked.")
    document = {"environment": app.environment, "proofs": documents, "repeated": wanted.repeated}
    request.answer(document, lines)


def _what(app: App, wanted: ProofList) -> str:
    words = counted(len(wanted.proof_ids), "proof")
    if wanted.repeated:
        words = f"{words} (named {wanted.repeated:,} more times)"
    if wanted.empty:
        rows = counted(wanted.empty, "row")
        words = f"{words} ({rows} without an ID left out)"
    return f"{words} of {app.environment}"


def _refuse_other_words(app: App, wanted: ProofList, count: int | None, environment: str | None) -> None:
    """Refuse to erase unless a person has said how many proofs, and outside of test environments also whose."""
    label = app.environment
    proofs = len(wanted.proof_ids)
    if count != proofs:
        what = _what(app, wanted)
        raise UsageError(f"This erases {what} for good: confirm it with --yes-erase {proofs}. Nothing was erased.")
    needs_label = environment is not None or label not in DISPOSABLE
    if needs_label and environment != label:
        raise UsageError(f"The proofs are of {label}: confirm it with --environment {label}. Nothing was erased.")


def _erase(request: CommandRequest, wanted: ProofList) -> int:
    app = request.app
    numbers = count(1)
    proofs = len(wanted.proof_ids)
    with stopped_on_signals(app), request.out.status("erasing …") as status:

        def show_number(_row: Row) -> None:
            number = next(numbers)
            status.update(f"erasing … {number:,} of {proofs:,}")

        report = erase_proofs(app.operations(), wanted, show_number)
    request.answer(report.document(), report.lines())
    if report.stopped is not None:
        say(report.stopped.message)
        return code_of_error(report.stopped)
    if report.failed:
        return ExitCode.FAILED
    return ExitCode.ACCEPTED
