"""`proofsweep conformance`: check a service against the contract, sentence by sentence."""

import time
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer
from pydantic import SecretStr, ValidationError

from partner_conformance import (
    CHECKS,
    FAILED,
    NOT_TRIED,
    Check,
    Inputs,
    KeyRefused,
    NoAnswer,
    Result,
    Risk,
    Subject,
    Wire,
    chosen,
    matching,
    most_calls,
    run,
)
from proofsweep.endings import EndedBy
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.settings import ServiceSettings, load_settings
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.key_sources import key_in_file
from proofsweep_cli import conformance_options as options
from proofsweep_cli.conformance_junit import refuse_unwritable, write_junit
from proofsweep_cli.conformance_screen import CONTRACT, RESULTS, print_checks, print_results
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import AsJson, Config
from proofsweep_cli.screen import console, counted

_RISKY_CHECKS_IN = ("beta", "sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedService:
    """The service to examine, with its key; `environment` is empty where it is unknown."""

    base_url: str
    key: SecretStr
    environment: str
    sidecar_field: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How to report: as JSON or a table, in a JUnit file, and whether a check that was not tried counts."""

    junit: Path | None
    as_json: bool
    strict: bool


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(options.with_inputs(conformance))


def conformance(
    *,
    base_url: str | None = options.BaseUrl,
    key_file: Path | None = options.KeyFile,
    config: str | None = Config,
    environment: str | None = options.Environment,
    only: list[str] = options.Only,
    include: list[str] = options.Include,
    given: options.Given,
    max_calls: int | None = options.MaxCalls,
    list_checks: bool = options.ListChecks,
    strict: bool = options.Strict,
    junit: Path | None = options.JUnit,
    as_json: bool = AsJson,
) -> int:
    """Check a service against the contract from outside, sentence by sentence.

    By default nothing changes there: keys, usage and proofs are read, and a file of silence is uploaded and verified.
    Checks that spend much, rotate the key or erase a proof must be named. Example: `proofsweep conformance -c beta
    --include 'rotate-*' --new-key-file new-key --junit report.xml`
    """
    if list_checks:
        return print_checks(_named(only, include) if only or include else CHECKS.values(), as_json=as_json)
    service = _service(base_url, key_file, config, environment)
    if junit is not None:
        refuse_unwritable(junit)
    inputs = _inputs(given, service.sidecar_field)
    checks = _named(only, include, is_test_environment=service.environment in _RISKY_CHECKS_IN)
    checks = _permitted(checks, {*only, *include}, inputs, service.environment)
    report = Report(junit=junit, as_json=as_json, strict=strict)
    return _examine(service, inputs, checks, max_calls, report)


def _named(only: list[str], include: list[str], *, is_test_environment: bool = False) -> list[Check]:
    unknown = [name for name in (*only, *include) if not matching(name)]
    if unknown:
        raise ConfigError(f"There is no check {unknown[0]!r}; `proofsweep conformance --list` lists them.")
    return chosen(only, include, is_test_environment=is_test_environment)


def _service(
    base_url: str | None, key_file: Path | None, config: str | None, environment: str | None
) -> ExaminedService:
    """Return the service that is named with its key, else the config's.

    Raises:
        ConfigError: only one of URL and key file is given, or config and command line name different environments.
    """
    if base_url is None and key_file is None:
        settings = load_settings(config)
        configured = settings.service
        if environment not in {None, configured.environment}:
            raise ConfigError(f"The config's service is {configured.environment!r}, not {environment!r}.")
        key = engine_for(settings, read_block).key.current
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
    return ExaminedService(base_url=url, key=key_in_file(key_file), environment=environment or "", sidecar_field=None)


def _inputs(given: options.Given, sidecar_field: str | None) -> Inputs:
    """Read the keys that were given as files."""
    key_files = {name for name in given if name.endswith("_key_file")} - {"new_key_file"}
    keys = {name.removesuffix("_file"): _secret(given[name]) for name in key_files}
    others = {name: value for name, value in given.items() if name not in key_files}
    return Inputs(**others | keys | {"sidecar_field": given["sidecar_field"] or sidecar_field})


def _secret(file: Path | None) -> str | None:
    return None if file is None else key_in_file(file).get_secret_value()


def _permitted(checks: list[Check], named: set[str], inputs: Inputs, environment: str) -> list[Check]:
    """Return the checks back; before any call, raise ConfigError for a check that is not allowed or not possible."""
    for each in checks:
        if each.risk is not Risk.NONE and environment not in _RISKY_CHECKS_IN:
            given = f"the environment is {environment!r}" if environment else "give the environment by --environment"
            raise ConfigError(f"{each.name} {each.risk}; it runs only in beta or sandbox, and {given}.")
        missing = inputs.missing(each.needs) if each.name in named else ()
        if missing:
            raise ConfigError(f"{each.name} needs {inputs.option(missing[0])}.")
    for file in (
        inputs.one_file,
        inputs.local_seal,
        inputs.unregistered,
        *(inputs.pair or ()),
        *(inputs.unregistered_pair or ()),
    ):
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


def _examine(
    service: ExaminedService, inputs: Inputs, checks: list[Check], max_calls: int | None, report: Report
) -> int:
    started, err = time.monotonic(), console(to_stderr=True)
    most = most_calls(checks, inputs) if max_calls is None else max_calls
    with Wire(service.base_url, service.key.get_secret_value(), most_calls=most) as wire:
        subject = Subject(wire, inputs)
        err.print(f"{len(checks)} checks, at most {counted(most, 'keyed call')}", style="dim")
        _require_accepted_key(subject)
        with err.status("running the checks") if err.is_terminal else nullcontext():
            results = sorted(run(checks, subject), key=lambda each: RESULTS.index(each.result))
        print_results(results, wire, service.environment, time.monotonic() - started, as_json=report.as_json)
    if report.junit is not None:
        write_junit(report.junit, results, CONTRACT)
    return _code(results, strict=report.strict)


def _require_accepted_key(subject: Subject) -> None:
    """Ask for usage: without an accepted key there is nothing to examine.

    Raises:
        RunMustStop: the service cannot be reached, or refuses the key.
    """
    try:
        _ = subject.usage
    except NoAnswer as error:
        raise RunMustStop(f"The service cannot be examined: {error.said}.", ended_by=EndedBy.BREAKER) from error
    except KeyRefused as error:
        raise RunMustStop(
            f"The key was refused (request ID {error.request_ids[0]}).", ended_by=EndedBy.KEY_REFUSED
        ) from error


def _code(results: Collection[Result], *, strict: bool) -> ExitCode:
    if any(each.is_key_refused for each in results):
        return ExitCode.KEY_REFUSED
    if any(each.result == FAILED for each in results):
        return ExitCode.REJECTED
    if any(each.is_unanswered for each in results):
        return ExitCode.FAILED
    return ExitCode.NOT_TRIED if strict and any(each.result == NOT_TRIED for each in results) else ExitCode.ACCEPTED
