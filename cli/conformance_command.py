"""`proofsweep conformance`: hold a service against the contract, sentence by sentence."""

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

_PERMITTING = ("beta", "sandbox")
_REFUSED = 403


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The service to examine, with its key; `environment` is empty where nobody said what it is."""

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

    By default nothing is changed there: keys, usage and proofs are read, and silence is uploaded and verified. Checks
    that spend much, rotate the key or erase a proof are made only when they are named, and never in production.
    """
    if list_checks:
        return print_checks(_named(only, include) if only or include else CHECKS.values(), as_json=as_json)
    place = _place(base_url, key_file, config, environment)
    inputs = Inputs(
        sidecar_field=sidecar_field or place.sidecar_field,
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
    checks = _permitted(_named(only, include), {*only, *include}, inputs, place.environment)
    return _examine(place, inputs, checks, as_json=as_json)


def _named(only: list[str], include: list[str]) -> list[Check]:
    unknown = [name for name in (*only, *include) if name not in CHECKS]
    if unknown:
        raise ConfigError(f"There is no check {unknown[0]!r}; `proofsweep conformance --list` lists them.")
    return chosen(only, include)


def _place(base_url: str | None, key_file: Path | None, config: str | None, environment: str | None) -> Place:
    """Say which service is meant: the one that was named with its key, else the config's.

    Raises:
        ConfigError: it is only half named, or the config says another environment than the command line.
    """
    if base_url is None and key_file is None:
        settings = load_settings(config)
        service = settings.service
        if environment not in {None, service.environment}:
            raise ConfigError(f"The config's service is {service.environment!r}, not {environment!r}.")
        key = engine_for(settings, read_block).key.get()
        return Place(
            base_url=service.base_url,
            key=key,
            environment=service.environment,
            sidecar_field=service.sidecar_field,
        )
    if base_url is None or key_file is None:
        raise ConfigError("Give both --base-url and --key-file, or neither: then the config's service is examined.")
    try:
        url = ServiceSettings(base_url=base_url, environment=environment or "not told").base_url
    except ValidationError as error:
        raise ConfigError(f"--base-url {error.errors()[0]['msg'].removeprefix('Value error, ')}.") from None
    return Place(base_url=url, key=kept_in(key_file)(), environment=environment or "", sidecar_field=None)


def _secret(file: Path | None) -> str | None:
    return None if file is None else kept_in(file)().get_secret_value()


def _permitted(checks: list[Check], named: set[str], inputs: Inputs, environment: str) -> list[Check]:
    """Give the checks back; raise ConfigError for what may not or cannot be done, before anything is asked."""
    for each in checks:
        if each.risk is not Risk.NONE and environment not in _PERMITTING:
            said = f"and the environment is {environment!r}" if environment else "and it is not said: --environment"
            raise ConfigError(f"{each.name} {each.risk}; it is made in beta or sandbox alone, {said}.")
        missing = inputs.missing(each.needs) if each.name in named else ()
        if missing:
            raise ConfigError(f"{each.name} needs {inputs.option(missing[0])}.")
    for file in (inputs.one_file, inputs.local_seal, inputs.unregistered, *(inputs.pair or ())):
        if file is not None and not file.is_file():
            raise ConfigError(f"There is no file {file}.")
    if any(each.risk is Risk.ROTATES for each in checks) and inputs.new_key_file is not None:
        _see_that_it_can_be_written(inputs.new_key_file)
    return checks


def _see_that_it_can_be_written(new_key_file: Path) -> None:
    if new_key_file.exists():
        raise ConfigError(f"{new_key_file} exists; it is not overwritten.")
    if not new_key_file.absolute().parent.is_dir():
        raise ConfigError(f"There is no folder for {new_key_file}.")


def _examine(place: Place, inputs: Inputs, checks: list[Check], *, as_json: bool) -> int:
    begun, err = time.monotonic(), console(to_stderr=True)
    with Wire(place.base_url, place.key.get_secret_value()) as wire:
        subject = Subject(wire, inputs)
        most = most_calls(checks, subject)
        err.print(f"{len(checks)} checks, at most {most} keyed calls", style="dim")
        _see_that_the_key_is_taken(subject)
        with err.status("asking") if err.is_terminal else nullcontext():
            results = list(run(checks, subject))
        print_results(results, wire, place.environment, time.monotonic() - begun, as_json=as_json)
    return _code(results)


def _see_that_the_key_is_taken(subject: Subject) -> None:
    """Ask for usage; whoever is not let in has nothing to examine.

    Raises:
        RunMustStop: the service is not to be reached, or refuses the key.
    """
    try:
        usage = subject.usage
    except NoAnswer as error:
        raise RunMustStop(f"The service cannot be examined: {error.said}.", ended_by="breaker") from error
    if usage.status == _REFUSED:
        said = f"The key was refused (request ID {usage.request_id})."
        raise RunMustStop(said, ended_by="key_refused")


def _code(results: Iterable[Result]) -> ExitCode:
    if any(each.result == FAILED for each in results):
        return ExitCode.REJECTED
    return ExitCode.FAILED if any(each.is_unanswered for each in results) else ExitCode.ACCEPTED
