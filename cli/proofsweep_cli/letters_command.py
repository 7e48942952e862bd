"""`proofsweep letters`: what suppliers must hear of their files, one letter each."""

import typer

from proofsweep.answers.letter_texts import letter_texts, shipped_texts
from proofsweep.answers.letters import COLUMNS, TOLD_OUTCOMES, entries_of, write_letters
from proofsweep.settings import load_settings
from proofsweep.wiring.catalogs import supplier_tag
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.operations import selected_rows
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl, RunId
from proofsweep_cli.screen import console, counted, print_json


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(letters)


def letters(
    run_id: str | None = RunId,
    *,
    folder: str = typer.Option("letters", "--dir", metavar="DIR", help="Where to write them."),
    by: str | None = typer.Option(
        None, "--by", metavar="TAG", help="The tag that names the supplier; default from the config."
    ),
    print_texts: bool = typer.Option(
        False,
        "--print-texts",
        help="Print the texts that letters have, as a file to edit or translate (letters.texts).",
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Write a letter to each supplier whose files could not be accepted: what is wrong, and what is needed.

    Without RUN the letters name what needs attention now in all catalogs. Files that failed at the service are in no
    letter. A letter that is there is never overwritten.

    Examples: `proofsweep letters --by label` · `proofsweep letters --print-texts > de.toml`
    """
    out = console()
    if print_texts:
        for line in shipped_texts().splitlines():
            out.print(line, soft_wrap=True)
        return ExitCode.ACCEPTED
    settings = load_settings(config, results)
    texts = letter_texts(settings.letters.texts)
    selected = selected_rows(settings, run_id, TOLD_OUTCOMES)
    name = f"{utc_now():%Y-%m-%dT%H%M%SZ}" if selected.plan is None else selected.plan.run_id
    tag = by or supplier_tag(settings) or settings.ingest.supplier_tag
    entries = entries_of(selected.rows(COLUMNS), tag, is_required=by is not None)
    written = write_letters(folder, name, entries, texts)
    if as_json:
        print_json({"letters": written})
        return ExitCode.ACCEPTED
    for letter in written:
        out.print(letter, soft_wrap=True)
    out.print(counted(len(written), "letter") if written else "No supplier must be told of a file.", style="bold")
    return ExitCode.ACCEPTED
