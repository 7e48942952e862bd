"""`proofsweep proofs erase`: let the service erase proofs for good."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import typer
from rich.console import Console

from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import printable
from proofsweep.operations.erase import DISPOSABLE, Erasure, ProofList
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.operations import erase_proofs, names_of, read_proof_list
from proofsweep_cli.exit_codes import ExitCode, code_of_error
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, counted, print_error, print_json
from proofsweep_tasks.stop_on_signals import stopped_on_signals

_SHOWN = 10
_LIST_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".xlsx")


def erase(
    proof_ids: list[str] | None = typer.Argument(None, metavar="[PROOF_ID]...", help="Proofs to erase."),
    *,
    file: Path | None = typer.Option(
        None, "--from", metavar="FILE", help="A file with an ID on each line, or a CSV file with a column proof_id."
    ),
    yes_erase: int | None = typer.Option(
        None, "--yes-erase", metavar="N", help="Erase without asking; N must be the exact number of proofs."
    ),
    environment: str | None = typer.Option(
        None, "--environment", metavar="LABEL", help="With --yes-erase, outside sandbox and beta: the environment."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only list the proofs, with the files that are known."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Let the service erase proofs and all that it has of them, for good. This cannot be undone.

    Files of an erased proof are `unregistered` from then on. A proof that is named twice counts once. Each answer is
    recorded before the next proof is asked for; if the command is interrupted, run it again. Uses one keyed call for
    each proof.

    Example: `proofsweep proofs erase --from withdrawn.csv --dry-run`
    """
    _refuse_files(proof_ids or [])
    wanted, settings = read_proof_list(proof_ids or [], file), load_settings(config, results)
    if dry_run:
        return _list(settings, wanted, as_json=as_json)
    out = console(to_stderr=as_json)
    if yes_erase is None:
        _ask(out, settings, wanted)
    else:
        _check(settings, wanted, yes_erase, environment)
    return _erase(out, settings, wanted, as_json=as_json)


def _refuse_files(proof_ids: Sequence[str]) -> None:
    """Refuse a list's name in the place of an ID: the service would answer that there is nothing to erase."""
    for each in proof_ids:
        if each.lower().endswith(_LIST_ENDINGS) or Path(each).is_file():
            raise UsageError(f"{printable(each)} is no proof ID but a file's name; read a list with --from FILE.")


def _list(settings: Settings, wanted: ProofList, *, as_json: bool) -> int:
    names = names_of(settings, wanted)
    if as_json:
        listed = [{"proof_id": each, "file": names.get(each)} for each in wanted.proof_ids]
        print_json({"environment": settings.service.environment, "proofs": listed, "repeated": wanted.repeated})
        return ExitCode.ACCEPTED
    out = console()
    for proof_id in wanted.proof_ids:
        out.print(f"{proof_id}  {names.get(proof_id, 'no file of this results store')}", soft_wrap=True)
    out.print(f"Would erase {_what(settings, wanted)}. Nothing was asked.", soft_wrap=True)
    return ExitCode.ACCEPTED


def _what(settings: Settings, wanted: ProofList) -> str:
    more = f" (named {wanted.repeated:,} more times)" if wanted.repeated else ""
    empty = f" ({counted(wanted.empty, 'row')} without an ID left out)" if wanted.empty else ""
    return f"{counted(len(wanted.proof_ids), 'proof')}{more}{empty} of {settings.service.environment}"


def _check(settings: Settings, wanted: ProofList, count: int, environment: str | None) -> None:
    label = settings.service.environment
    if count != len(wanted.proof_ids):
        raise UsageError(
            f"--yes-erase {count} is not the number of proofs, {len(wanted.proof_ids)}; nothing was erased."
        )
    if environment != label and (environment is not None or label not in DISPOSABLE):
        raise UsageError(f"The proofs are of {label}: confirm it with --environment {label}. Nothing was erased.")


def _ask(out: Console, settings: Settings, wanted: ProofList) -> None:
    if not sys.stdin.isatty():
        raise UsageError("There is no terminal to ask on: add --yes-erase with the number of proofs, or --dry-run.")
    for proof_id in wanted.proof_ids[:_SHOWN]:
        out.print(f"  {proof_id}", soft_wrap=True)
    if len(wanted.proof_ids) > _SHOWN:
        out.print(f"  and {len(wanted.proof_ids) - _SHOWN:,} more; --dry-run lists all")
    out.print(f"Erases {_what(settings, wanted)} for good ({settings.service.base_url}).", soft_wrap=True)
    label, count = settings.service.environment, str(len(wanted.proof_ids))
    words = [count] if label in DISPOSABLE else [count, label]
    for word in words:
        if typer.prompt(f"Type {word} to erase them", err=True) != word:
            raise UsageError(f"That is not {word}; nothing was erased.")


def _erase(out: Console, settings: Settings, wanted: ProofList, *, as_json: bool) -> int:
    engine, done = engine_for(settings, read_block), 0
    with stopped_on_signals(engine), out.status("erasing …") if out.is_terminal else nullcontext() as status:

        def told(_erasure: Erasure) -> None:
            nonlocal done
            done += 1
            if status is not None:
                status.update(f"erasing … {done:,} of {len(wanted.proof_ids):,}")

        report = erase_proofs(settings, wanted, read_block, told)
    if as_json:
        print_json(report.document())
    else:
        for line in report.lines():
            out.print(line, soft_wrap=True)
    if report.stopped is not None:
        print_error(report.stopped.message)
        return code_of_error(report.stopped)
    return ExitCode.FAILED if report.failed else ExitCode.ACCEPTED
