"""`proofsweep doctor`: is everything in place, before a catalog is begun."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import typer

from cli.check_command import checked
from cli.exit_codes import ExitCode, code_of_error
from cli.key_block import read_block
from cli.options import AsJson, Config, ResultsUrl
from cli.screen import console, print_json
from proofsweep.bootstrap.engines import Engine, engine_for
from proofsweep.bootstrap.runs import results_for
from proofsweep.contract.verdicts import Verdict
from proofsweep.domain.outcomes import Accepted, Failed, Finished, Rejected
from proofsweep.domain.reasons import Ineligible
from proofsweep.errors import ProofsweepError
from proofsweep.settings import Settings, load_settings
from proofsweep.storage.results.write_probe import probe

_ASK_FOR_NAME = "ask the partner for it and set service.sidecar_field"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found; `code` is the exit code that it calls for."""

    about: str
    said: str
    code: ExitCode = ExitCode.ACCEPTED


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    pair: tuple[str, str] | None = typer.Option(
        None,
        "--pair",
        metavar="AUDIO SIDECAR",
        help="A pair known to be good, its audio with no credential of its own: proves the sidecar's wire name.",
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Look at config, key, service, quota, results store and pairing, and say what to do about each that fails.

    Spends one keyed call, and two more with --pair. Writes nothing that stays.
    """
    findings = list(_findings(config, results, pair))
    code = max(finding.code for finding in findings)
    if as_json:
        print_json({"ok": code == 0, "findings": [asdict(each) | {"ok": each.code == 0} for each in findings]})
        return code
    out = console()
    for finding in findings:
        word, style = ("ok", "green") if finding.code == 0 else ("failed", "red")
        out.print(f"{word:<7}{finding.about:<9}{finding.said}", style=style, soft_wrap=True)
    return code


def _findings(config: str | None, results: str | None, pair: tuple[str, str] | None) -> Iterator[Finding]:
    """Look at one thing after the other; what rests on something that failed is left out."""
    try:
        settings = load_settings(config, results)
    except ProofsweepError as error:
        yield Finding("config", error.message, code_of_error(error))
        return
    yield Finding("config", f"{settings.service.environment}, {settings.service.base_url}")
    yield _looked("results", lambda: _see_store(settings))
    yield Finding("pairs", _pairing(settings))
    key = _looked("key", lambda: _see_key(settings))
    yield key
    if key.code:
        return
    service = _looked("service", lambda: _see_service(engine_for(settings, read_block)))
    yield service
    if pair is not None and not service.code:
        yield _see_pair(settings, *pair)


def _looked(about: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(about, look())
    except ProofsweepError as error:
        return Finding(about, error.message, code_of_error(error))


def _see_store(settings: Settings) -> str:
    store = results_for(settings).store
    probe(store)
    return f"{store.url} can be written"


def _pairing(settings: Settings) -> str:
    names = " or ".join(settings.catalog.sidecar_names)
    wire = settings.service.sidecar_field
    sent = f"sent as {wire!r}" if wire else f"refused until their wire name is known: {_ASK_FOR_NAME}"
    return f"sidecars are found as {names} and {sent}"


def _see_key(settings: Settings) -> str:
    return f"fingerprint {engine_for(settings, read_block).key_fingerprint}"


def _see_service(engine: Engine) -> str:
    seen = engine.usable_service()
    left = "quota not told" if seen.headroom is None else f"{seen.headroom:,} calls left"
    reset = "" if seen.quota_reset is None else f" until {seen.quota_reset:%Y-%m-%d %H:%M} UTC"
    return f"healthy, version {seen.version or 'not told'}, takes the key; {left}{reset}"


def _see_pair(settings: Settings, audio: str, sidecar: str) -> Finding:
    try:
        return _judged(checked(audio, sidecar, settings))
    except ProofsweepError as error:
        return Finding("pair", error.message, code_of_error(error))


def _judged(done: Finished) -> Finding:
    """Say what a pair's outcome tells about the wire name: under a wrong one the service sees the audio alone."""
    match done.outcome:
        case Accepted():
            return Finding("pair", "valid: the sidecar's wire name is right")
        case Rejected(reason=Verdict.AUDIO_CHANGED):
            return Finding("pair", "audioChanged: the wire name is right, the pair does not belong together")
        case Rejected(reason=Verdict.UNREADABLE):
            said = f"unreadable: if the pair is good, the sidecar's wire name is wrong; {_ASK_FOR_NAME}"
            return Finding("pair", said, ExitCode.USAGE)
        case Rejected(reason=reason):
            said = f"{reason}: says nothing about the wire name; take a pair that is known to be good"
            return Finding("pair", said, ExitCode.REJECTED)
        case Ineligible(detail=detail):
            return Finding("pair", detail, ExitCode.USAGE)
        case Failed(detail=detail):
            return Finding("pair", detail, ExitCode.FAILED)
