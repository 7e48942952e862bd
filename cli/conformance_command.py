"""`proofsweep conformance`: check a service against the contract, sentence by sentence."""

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer
from pydantic import SecretStr, ValidationError

from cli import conformance_options as options
from cli.conformance_screen import print_checks, print_results
from cli.exit_codes import ExitCode
from cli.key_block import read_block
from cli.options import AsJson, Config
from cli.screen import console
from conformance import CHECKS, FAILED, Check, Inputs, NoAnswer, Result, Risk, Subject, Wire, chosen, most_calls, run
from proofsweep.bootstrap.engines import engine_for
from proofsweep.client.keys import key_file as kept_in
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.settings import ServiceSettings, load_settings

_RISKY_CHECKS_IN = ("beta", "sandbox")
_FORBIDDEN = 403


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedService:
    """The service to examine, with its key; `environment` is empty where it is unknown."""

    base_url: str
    key: SecretStr
    environment: str
    sidecar_field: str | None


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(conformance)


def conformance(
    *,
    base_url: str | None = options.BaseUrl,
    key_file: Path | None = options.KeyFile,
    config: str | None = Config,
    environment: str | None = options.Environment,
    only: list[str] = options.Only,
    include: list[str] = options.Include,
    one_file: Path | None = options.OneFile,
    pair: tuple[Path, Path] | None = options.Pair,
    sidecar_field: str | None = options.SidecarField,
    local_seal: Path | None = options.LocalSeal,
    unregistered: Path | None = options.Unregistered,
    proof: str | None = options.Proof,
    other_key_file: Path | None = options.OtherKeyFile,
    other_environment_key_file: Path | None = options.OtherEnvironmentKeyFile,
    new_key_file: Path | None = options.NewKeyFile,
    erase_proof: str | None = options.EraseProof,
    slot_seconds: float | None = options.SlotSeconds,
    list_checks: bool = options.ListChecks,
    as_json: bool = AsJson,
) -> int:
    """Check a service against the contract from outside, sentence by sentence.

    By default nothing changes there: keys, usage and proofs are read, and a file of silence is uploaded and verified.
    Checks that spend much, rotate the key or erase a proof must be named. Example: `proofsweep conformance -c beta`
    """
    if list_checks:
        return print_checks(_named(only, include) if only or include else CHECKS.values(), as_json=as_json)
    service = _service(base_url, key_file, config, environment)
    inputs = Inputs(
        sidecar_field=sidecar_field or service.sidecar_field,
        one_file=one_file,
        pair=pair,
        local_seal=local_seal,
        unregistered=unregistered,
        proof=proof,
        other_key=_secret(other_key_file),
        other_environment_key=_secret(other_environment_key_file),
        new_key_file=new_key_file,
        erase_proof=erase_proof,
        slot_seconds=slot_seconds,
    )
    checks = _permitted(_named(only, include), {*only, *include}, inputs, service.environment)
    return _examine(service, inputs, checks, as_json=as_json)


def _named(only: list[str], include: list[str]) -> list[Check]:
    unknown = [name for name in (*only, *include) if name not in CHECKS]
    if unknown:
        raise ConfigError(f"There is no check {unknown[0]!r}; `proofsweep conformance --list` lists them.")
    return chosen(only, include)


def _service(
    base_url: str | None, key_file: Path | None, config: str | None, environment: str | None
) -> ExaminedService:
    """Give the service that is named with its key, else the config's.

    Raises:
        ConfigError: only one of URL and key file is given, or config and command line name different environments.
    """
    if base_url is None and key_file is None:
        settings = load_settings(config)
        configured = settings.service
        if environment not in {None, configured.environment}:
            raise ConfigError(f"The config's service is {configured.environment!r}, not {environment!r}.")
        key = engine_for(settings, read_block).key.get()
        return ExaminedService(
            base_url=configured.base_url,
            key=key,
            environment=configured.environment,
            sidecar_field=configured.sidecar_field,
        )
    if base_url is None or key_file is None:
        raise ConfigError("Give both --base-url and --key-file, or neither: then the config's service is examined.")
    try:
        url = ServiceSettings(base_url=base_url, environment=environment or "unknown").base_url
    except ValidationError as error:
        raise ConfigError(f"--base-url {error.errors()[0]['msg'].removeprefix('Value error, ')}.") from None
    return ExaminedService(base_url=url, key=kept_in(key_file)(), environment=environment or "", sidecar_field=None)


def _secret(file: Path | None) -> str | None:
    return None if file is None else kept_in(file)().get_secret_value()


def _permitted(checks: list[Check], named: set[str], inputs: Inputs, environment: str) -> list[Check]:
    """Give the checks back; before any call, raise ConfigError for a check that is not allowed or not possible."""
    for each in checks:
        if each.risk is not Risk.NONE and environment not in _RISKY_CHECKS_IN:
            given = f"the environment is {environment!r}" if environment else "give the environment by --environment"
            raise ConfigError(f"{each.name} {each.risk}; it runs only in beta or sandbox, and {given}.")
        missing = inputs.missing(each.needs) if each.name in named else ()
        if missing:
            raise ConfigError(f"{each.name} needs {inputs.option(missing[0])}.")
    for file in (inputs.one_file, inputs.local_seal, inputs.unregistered, *(inputs.pair or ())):
        if file is not None and not file.is_file():
            raise ConfigError(f"There is no file {file}.")
    if any(each.risk is Risk.ROTATES for each in checks) and inputs.new_key_file is not None:
        _refuse_unwritable(inputs.new_key_file)
    return checks


def _refuse_unwritable(new_key_file: Path) -> None:
    if new_key_file.exists():
        raise ConfigError(f"{new_key_file} exists and is not overwritten; name another file.")
    if not new_key_file.absolute().parent.is_dir():
        raise ConfigError(f"There is no folder for {new_key_file}; make it first.")


def _examine(service: ExaminedService, inputs: Inputs, checks: list[Check], *, as_json: bool) -> int:
    started, err = time.monotonic(), console(to_stderr=True)
    with Wire(service.base_url, service.key.get_secret_value()) as wire:
        subject = Subject(wire, inputs)
        most = most_calls(checks, subject)
        err.print(f"{len(checks)} checks, at most {most} keyed calls", style="dim")
        _require_accepted_key(subject)
        with err.status("running the checks") if err.is_terminal else nullcontext():
            results = list(run(checks, subject))
        print_results(results, wire, service.environment, time.monotonic() - started, as_json=as_json)
    return _code(results)


def _require_accepted_key(subject: Subject) -> None:
    """Ask for usage: without an accepted key there is nothing to examine.

    Raises:
        RunMustStop: the service cannot be reached, or refuses the key.
    """
    try:
        usage = subject.usage
    except NoAnswer as error:
        raise RunMustStop(f"The service cannot be examined: {error.said}.", ended_by="breaker") from error
    if usage.status == _FORBIDDEN:
        raise RunMustStop(f"The key was refused (request ID {usage.request_id}).", ended_by="key_refused")


def _code(results: Iterable[Result]) -> ExitCode:
    if any(each.result == FAILED for each in results):
        return ExitCode.REJECTED
    return ExitCode.FAILED if any(each.is_unanswered for each in results) else ExitCode.ACCEPTED
