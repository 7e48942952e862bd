"""The options of `proofsweep conformance`."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import typer

Given = dict[str, Any]
"""What the person gave for each input, by the name of its option."""

BaseUrl = typer.Option(
    None, "--base-url", metavar="URL", help="The service; ends in /v1. Without it, the config's service and key."
)
KeyFile = typer.Option(None, "--key-file", metavar="FILE", help="The file that holds that service's key.")
Environment = typer.Option(
    None,
    "--environment",
    metavar="LABEL",
    help="beta or sandbox permits checks that spend, rotate or erase; a config names its own.",
)
Only = typer.Option(
    [], "--only", metavar="NAME", help="Run only this check, or a pattern as 'verdicts-*'; may be repeated."
)
Include = typer.Option(
    [], "--include", metavar="NAME", help="Run this check too, or a pattern as 'rotate-*'; may be repeated."
)
MaxCalls = typer.Option(
    None,
    "--max-calls",
    metavar="N",
    min=1,
    help="Make at most so many keyed calls; without it, what the checks declare together.",
)
ListChecks = typer.Option(False, "--list", help="List the checks and what each needs; make no call.")
Strict = typer.Option(False, "--strict", help="End with exit code 10 if a check was not tried and none failed.")
JUnit = typer.Option(None, "--junit", metavar="FILE", help="Write the results as JUnit XML too, for a CI system.")


def with_inputs(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command the options of all inputs; it gets what was given as one argument, `given`."""

    def conformance(**arguments: Any) -> int:  # noqa: ANN401 - each option has its own type
        given = {option.name: arguments.pop(option.name) for option in _INPUTS}
        return command(given=given, **arguments)

    others = [each for each in signature(command).parameters.values() if each.name != "given"]
    conformance.__signature__ = Signature([*others, *_INPUTS])  # type: ignore[attr-defined]  # Typer reads the options there
    conformance.__doc__ = command.__doc__
    return conformance


def _input(name: str, kind: object, metavar: str, said: str, **options: Any) -> Parameter:  # noqa: ANN401 - Typer's own
    option = typer.Option(None, f"--{name.replace('_', '-')}", metavar=metavar, help=said, **options)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=option, annotation=kind | None)  # type: ignore[operator]  # a type


_INPUTS = (
    _input("one_file", Path, "WAV", "A one-file credential known to be accepted."),
    _input("pair", tuple[Path, Path], "AUDIO SIDECAR", "A legacy pair known to be accepted."),
    _input("sidecar_field", str, "NAME", "The sidecar's wire name."),
    _input("local_seal", Path, "WAV", "A WAV with an artist-device seal that was never registered."),
    _input("unregistered", Path, "WAV", "A WAV with a credential that is not registered."),
    _input("unregistered_pair", tuple[Path, Path], "AUDIO SIDECAR", "A legacy pair that is not registered."),
    _input("proof", str, "ID", "A proof held under the key; by default the newest listed."),
    _input("pending_proof", str, "ID", "A proof held under the key that is not issued yet."),
    _input("other_key_file", Path, "FILE", "A key of another tenant of the same service."),
    _input("other_environment_key_file", Path, "FILE", "A key of another environment, which must be refused."),
    _input("grace_key_file", Path, "FILE", "A key that was rotated less than 72 hours ago, which must still work."),
    _input("expired_key_file", Path, "FILE", "A key that was rotated more than 72 hours ago, which must be refused."),
    _input("new_key_file", Path, "FILE", "Where the new key of a rotation is written; must not exist."),
    _input("erase_proof", str, "ID", "A proof held under the key that may be erased for good."),
    _input("slot_seconds", float, "N", "Lifetime of a slot; the check waits for its end.", min=0),
)
