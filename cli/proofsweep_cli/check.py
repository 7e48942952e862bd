"""`proofsweep check`: verify one file now, without Prefect."""

import os

import typer

from proofsweep.domain.errors import ConfigError, UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.outcomes import MEANING_OF_VALID, Finished, word_for
from proofsweep.domain.reasons import Ineligible, Reason, about
from proofsweep.domain.text import printable
from proofsweep.store.rows import RowContext, row_of
from proofsweep.verify.check_file import answered_file
from proofsweep.verify.rate_leases import RateLeases
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import COLOURS, Screen, console, print_json

_CODES = {
    "accepted": ExitCode.ACCEPTED,
    "rejected": ExitCode.REJECTED,
    "ineligible": ExitCode.REJECTED,
    "failed": ExitCode.FAILED,
}


@with_request(without="results")
def check(
    request: CommandRequest,
    audio: str = typer.Argument(metavar="AUDIO", help="The audio file, or a bucket URL of one."),
    sidecar: str | None = typer.Argument(
        None, metavar="SIDECAR", help="Its sidecar proof file, if it has one: then the pair is verified."
    ),
) -> int:
    """Example: `proofsweep check song.mp3 song.mp3.sidecar`"""
    audio_name = printable(audio)
    if os.path.isdir(audio):  # noqa: PTH112 - False for a name that no disk can hold: what reads it says why
        verify = request.command("verify", audio)
        raise UsageError(f"{audio_name}: this is a folder. Verify all audio in it: {verify}")
    app = request.app
    # Without the field's name the service would see only the audio of the pair, and judge that.
    if sidecar is not None and app.settings.service.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    # A run may share the key: a pause that the service has asked it for is kept here too.
    RateLeases(app.store, app.service).heed()
    done = answered_file(app.service, audio, sidecar)
    _refuse_missing_file(done, audio_name, sidecar)
    row = row_of(done, RowContext("check", 0, app.environment))
    if request.as_json:
        # Nothing is stored, so there is no run of this answer.
        print_json({name: value for name, value in row.items() if name not in {"run_id", "leg"}})
    else:
        _print(row, done)
    return _CODES[word_for(done.outcome)]


def _refuse_missing_file(done: Finished, audio: str, sidecar: str | None) -> None:
    """Refuse a file that does not exist: it is a mistake of the command, and no result of a check."""
    if not isinstance(done.outcome, Ineligible):
        return
    reason = done.outcome.reason
    detail = done.outcome.detail
    why = detail[:1].lower() + detail[1:]
    if reason == Reason.MISSING_AUDIO:
        raise UsageError(f"{audio}: {why}")
    # An empty sidecar is missing as well, but the file is there: that is a result.
    is_empty = done.item.sidecar_version is not None
    if reason == Reason.MISSING_SIDECAR and not is_empty:
        name = printable(sidecar or "")
        raise UsageError(f"{name}: {why}")


def _print(row: Row, done: Finished) -> None:
    out = console()
    word = word_for(done.outcome)
    answer = row["verdict"] or row["reason"]
    title = f"{word} · {answer}"
    out.print(title, style=f"bold {COLOURS[word]}")
    if word == "accepted":
        for name in ("song", "proof_id", "issued_at", "classification"):
            value = row[name]
            if value is not None:
                out.line(f"  {name}: {value}")
        out.print(f"  {MEANING_OF_VALID}", style="dim")
    else:
        _print_trouble(out, row)
    if row["verify_request_id"] is not None:
        out.print(f"  request ID: {row['verify_request_id']}", markup=False)


def _print_trouble(out: Screen, row: Row) -> None:
    out.line(f"  {row['detail']}")
    # Some details already say what to do, and more exactly.
    if "ask the supplier" not in str(row["detail"]):
        reason = about(str(row["reason"]))
        out.line(f"  what to do: {reason.remedy}")
