"""`proofsweep doctor`: check that everything is ready before a catalog is begun."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from rich.text import Text

from proofsweep.app import App
from proofsweep.config.known_errors import known_error
from proofsweep.config.load import Settings
from proofsweep.config.locations import without_secrets
from proofsweep.domain.errors import ProofsweepError, ResultsError
from proofsweep.domain.outcomes import Accepted, Failed, Finished, Rejected, Verdict
from proofsweep.domain.reasons import Ineligible
from proofsweep.domain.text import printable
from proofsweep.operations.rotate import rotation_left
from proofsweep.verify.check_file import answered_file
from proofsweep.verify.service import Service
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode, code_of_error
from proofsweep_cli.prefect_api import PrefectApi, configured_url
from proofsweep_cli.screen import GREEN, RED, styled

_ATTEMPTS = 2  # attempts of a call: a person waits
_ASK_FOR_NAME = "ask the partner for it and set service.sidecar_field"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `code` is the exit code that follows from it."""

    about: str
    said: str
    code: ExitCode = ExitCode.ACCEPTED

    @property
    def is_ok(self) -> bool:
        return self.code == ExitCode.ACCEPTED

    @property
    def line(self) -> Text:
        word, colour = ("ok", GREEN) if self.is_ok else ("failed", RED)
        return styled(f"{word:<7}{self.about:<9}{self.said}", colour)

    @property
    def document(self) -> dict[str, object]:
        return {"about": self.about, "said": self.said, "code": self.code, "ok": self.is_ok}


@with_request()
def doctor(request: CommandRequest) -> int:
    """Starts a Prefect server as a run does, or asks the configured one. Uses one keyed call, and two more for each
    file of `service.known_good`. Leaves nothing behind, but the results store that must
    exist (`results.must_exist`). `plan` says how a catalog is read.

    Example: `proofsweep doctor --config production`
    """
    findings = list(_findings(request))
    code = max(finding.code for finding in findings)
    documents = [finding.document for finding in findings]
    lines = [finding.line for finding in findings]
    request.answer({"ok": code == ExitCode.ACCEPTED, "findings": documents}, lines)
    return code


def _findings(request: CommandRequest) -> Iterator[Finding]:
    try:
        app = request.app
    except ProofsweepError as error:
        yield Finding("config", error.message, code_of_error(error))
        return
    yield Finding("config", f"{app.environment}, {app.settings.service.base_url}")
    store = _finding_about("results", lambda: f"{_begun_store(app)} can be written")
    yield store
    yield Finding("pairs", _pairing(app.settings))
    yield _finding_about("prefect", _check_prefect)
    of_key = _findings_of_key(app, has_store=store.is_ok)
    yield from of_key
    # Without a key, every question that follows would fail for the same reason.
    if any(finding.about == "key" and finding.is_ok for finding in of_key):
        yield from _findings_with_key(app)


def _findings_with_key(app: App) -> Iterator[Finding]:
    # If this cannot be asked, the findings about the store and the key say why.
    with suppress(ProofsweepError):
        unfinished_rotation = rotation_left(app.results, app.service.key_fingerprint)
        if unfinished_rotation is not None:
            yield Finding("rotation", unfinished_rotation, ExitCode.FAILED)
    service = _finding_about("service", lambda: _check_service(app.service))
    yield service
    if service.is_ok:
        for audio, sidecar in app.settings.service.known_good:
            yield _check_known_good(app, audio, sidecar)


def _findings_of_key(app: App, *, has_store: bool) -> list[Finding]:
    """Return the key's fingerprint, or why it cannot be used; then the service is asked without it.

    The store says for which address a key is. If nothing answers at another one, the address is wrong, and nothing is
    said of the key; nor if the store cannot be used, which is told already.
    """
    try:
        fingerprint = app.service.key_fingerprint
    except ProofsweepError as error:
        key = Finding("key", error.message, code_of_error(error))
        service = _finding_about("service", lambda: _check_health(app))
        is_of_store = isinstance(error, ResultsError)
        if is_of_store and not (service.is_ok and has_store):
            return [service]
        if service.is_ok:
            return [key]
        return [service, key]
    return [Finding("key", f"fingerprint {fingerprint}")]


def _begun_store(app: App) -> str:
    """See that the store can be written, and begin one that must exist: a person reads the line that says so."""
    url = app.probed_store()
    if app.settings.results.must_exist:
        app.store.begin()
    return url


def _check_health(app: App) -> str:
    with app.keyless_service() as service:
        health, _ = service.ask(lambda partner: partner.with_attempts(_ATTEMPTS).health())
    return f"healthy, version {health.version or 'unknown'}"


def _finding_about(about: str, check: Callable[[], str]) -> Finding:
    try:
        said = check()
    except Exception as error:
        expected_error = known_error(error)
        if expected_error is None:
            raise
        code = code_of_error(expected_error)
        # A store that is away is an outage, which may be over soon: no other exit code says so.
        if isinstance(expected_error, ResultsError) and expected_error.is_outage:
            code = ExitCode.BREAKER
        return Finding(about, expected_error.message, code)
    return Finding(about, said)


def _check_prefect() -> str:
    """Ask the configured server, or start an embedded one, as a run does."""
    with PrefectApi() as prefect:
        prefect.require()
        server = prefect.begin()
    if server is not None:
        return f"a server of its own starts for each command; its records are in {server.home}"
    url = without_secrets(configured_url() or "")
    return f"the server at {url} answers"


def _pairing(settings: Settings) -> str:
    names = " or ".join(settings.catalog.sidecar_names)
    wire_name = settings.service.sidecar_field
    sent = f"not sent until the wire name is known: {_ASK_FOR_NAME}"
    if wire_name:
        sent = f"sent as {wire_name!r}"
    return f"sidecars are found as {names} and {sent}"


def _check_service(service: Service) -> str:
    status = service.usable()
    quota = "quota unknown"
    if status.headroom is not None:
        quota = f"{status.headroom:,} calls left"
    if status.quota_reset is not None:
        quota = f"{quota} until {status.quota_reset:%Y-%m-%d %H:%M} UTC"
    version = status.version or "unknown"
    return f"healthy, version {version}, accepts the key; {quota}"


def _check_known_good(app: App, audio: str, sidecar: str | None) -> Finding:
    try:
        done = answered_file(app.service, audio, sidecar)
        said, code = _judged(done, is_pair=sidecar is not None)
    except ProofsweepError as error:
        said = error.message
        code = code_of_error(error)
    return Finding("file", f"{printable(audio)}: {said}", code)


def _judged(done: Finished, *, is_pair: bool) -> tuple[str, ExitCode]:
    """Judge a known-good file by its outcome: under a wrong wire name the service sees only the audio of a pair."""
    match done.outcome:
        case Accepted():
            return "accepted", ExitCode.ACCEPTED
        case Rejected(reason=Verdict.UNREADABLE) if is_pair:
            return f"unreadable: the sidecar's wire name may be wrong; {_ASK_FOR_NAME}", ExitCode.USAGE
        case Rejected(reason=reason):
            said = f"{reason}: the environment is another one, its registry is empty, or this file is not known there"
            return said, ExitCode.REJECTED
        case Ineligible(detail=detail):
            return detail, ExitCode.USAGE
        case Failed(detail=detail):
            return detail, ExitCode.FAILED
