"""Options that several commands share, and how a command is given several of them as one value."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import typer

Config = typer.Option(
    None,
    "--config",
    "-c",
    metavar="FILE",
    help="Config file, or the name of a profile: sandbox, beta, production, nightly, ingest. [env: PROOFSWEEP_CONFIG]",
)
ResultsUrl = typer.Option(
    None,
    "--results",
    "-r",
    metavar="URL",
    help="Results store, a folder or bucket URL; default from the config (`results`).",
)
RunId = typer.Argument(
    None, metavar="[RUN]", help="A run; without one, how each file stands now by its newest answer of all runs."
)
Run = typer.Argument(None, metavar="[RUN]", help="A run; without one, the newest whole run of the catalog.")
OfCatalog = typer.Option(
    None,
    "--catalog",
    metavar="CATALOG",
    help="Without RUN: of this catalog, by its location or its `catalog.name`; by default of the newest whole run.",
)
Reserve = typer.Option(
    None, "--reserve", metavar="N", min=0, help="Leave this many calls of the quota to other users of the key."
)
MaxCalls = typer.Option(
    None, "--max-calls", metavar="N", min=1, help="Begin no file that this many keyed calls cannot cover."
)
Until = typer.Option(
    None,
    "--until",
    metavar="TIME",
    help="Begin no file after: 06:00, '06:00 Europe/Berlin' or an ISO instant; by default in this machine's zone.",
)
MaxDuration = typer.Option(
    None, "--max-duration", metavar="SPAN", help="Begin no file after this span: 7h, 90m, 1h30m."
)
NoDedupe = typer.Option(
    False, "--no-dedupe", help="Verify the same bytes each time the catalog lists them, not only once."
)
Root = typer.Option(
    None,
    "--root",
    metavar="FOLDER",
    help="Folder or bucket prefix that holds all files of the catalog; by default its own folder. Rows that lead out "
    "of it are ineligible.",
)
AllowOutside = typer.Option(
    False, "--allow-outside", help="Send files outside that folder too: for a manifest of your own, not a supplier's."
)
AsJson = typer.Option(False, "--json", help="Print one JSON object on stdout instead of text.")
SinceLast = typer.Option(
    False, "--since-last", help="Leave out files that are unchanged since their last answer, whatever its age."
)
MaxAge = typer.Option(
    None,
    "--max-age",
    metavar="SPAN",
    help="Leave out unchanged files whose answer is younger than this span: 30d, 12h.",
)
Where = typer.Option(
    None,
    "--where",
    metavar="SQL",
    help="Take only files that meet a condition on the manifest's columns, and on name, folder, size and modified: "
    "\"supplier = 'acme' AND size < 1000000\".",
)
NewerThan = typer.Option(
    None,
    "--newer-than",
    metavar="AGE",
    help="Take only files that were modified since: an age like 2d or 12h, a date, or an ISO instant.",
)
Only = typer.Option(
    [],
    "--only",
    metavar="REASON",
    help="Take only files that stand so by their newest answer: a reason as `rejects` names it, or an outcome: failed, "
    "rejected, ineligible. Repeatable.",
)
Checksums = typer.Option(
    [],
    "--checksums",
    metavar="FILE",
    help="A list of digests of the files, as md5sum writes it; or column:NAME, a manifest's column of digests. Files "
    "of other bytes are not sent. Repeatable.",
)
Anew = typer.Option(
    False, "--anew", help="Plan anew although a run of the catalog is unfinished; that run is then superseded."
)
OldestFirst = typer.Option(
    False,
    "--oldest-first",
    help="With --max-calls: verify only as many files as these calls are enough for, those tried longest ago first.",
)
SkipWithoutCredential = typer.Option(
    False,
    "--skip-without-credential",
    help="Look into each WAV that has no sidecar, and plan as ineligible those that carry no manifest of any kind; "
    "they cost no call.",
)
_Result = TypeVar("_Result")


def with_options(
    parameter: str, made: Callable[..., object]
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return what gives a command the options of `made`, after its own, in the place of one parameter."""
    shared = inspect.signature(made).parameters

    def given_to(command: Callable[..., _Result]) -> Callable[..., _Result]:
        own = {name: each for name, each in inspect.signature(command).parameters.items() if name != parameter}

        @wraps(command)
        def run(**given: Any) -> _Result:  # noqa: ANN401 - what typer has read
            value = made(**{name: given.pop(name) for name in shared})
            return command(**given, **{parameter: value})

        parameters = [*own.values(), *shared.values()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as inspect and typer read it
        run.__annotations__ = {each.name: each.annotation for each in parameters} | {
            "return": inspect.signature(command).return_annotation
        }
        return run

    return given_to
