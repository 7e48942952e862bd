"""The options of the command; there is no second list of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import typer

from partner_conformance.inputs import Inputs
from partner_conformance.stop import Stop

Given = dict[str, Any]
"""What was given, by the names of the options; a file of `--inputs` has the same names."""
_SECRETS = tuple(field.name for field in fields(Inputs) if field.name.endswith("_key"))
_FILES = ("one_file", "local_seal", "unregistered", "pair", "unregistered_pair", "erase_pair")


def _option(name: str, kind: object, metavar: str | None, said: str, default: object = None, **more: Any) -> Parameter:  # noqa: ANN401 - Typer's own
    option = typer.Option(default, f"--{name.replace('_', '-')}", metavar=metavar, help=said, **more)
    annotation = kind | None if default is None else kind  # type: ignore[operator]  # a type
    return Parameter(name, Parameter.KEYWORD_ONLY, default=option, annotation=annotation)


_PAIR = tuple[Path, Path]
_OPTIONS = (
    _option("base_url", str, "URL", "The service; ends in /v1."),
    _option("key_file", Path, "FILE", "The file that holds that service's key."),
    _option("environment", str, "LABEL", "beta or sandbox permits checks that spend, rotate or erase."),
    _option("inputs", Path, "FILE", "Read what is not given here from this file, as `prepare` writes it."),
    _option("only", list[str], "NAME", "Run only this check, or a pattern as 'verdicts-*'; may be repeated.", []),
    _option("include", list[str], "NAME", "Run this check too, or a pattern as 'rotate-*'; may be repeated.", []),
    _option("max_calls", int, "N", "Make at most so many keyed calls; by default what the checks declare.", min=1),
    _option("max_wait", float, "SECONDS", "Wait at most so long after 429s, in all.", 120.0, min=0),
    _option("proxy", str, "URL", "Reach the service through this proxy; by default HTTPS_PROXY and NO_PROXY count."),
    _option("ca", Path, "FILE", "Trust these certificate authorities too (PEM)."),
    _option("allow_plain_http", bool, None, "Send the key unencrypted to another machine, as to a container.", False),
    _option("junit", Path, "FILE", "Write the results as JUnit XML too, after each check."),
    _option("strict", bool, None, "End with exit code 10 if any check was not tried and none failed.", False),
    _option("list", bool, None, "List the checks and what each needs; make no call.", False),
    _option("coverage", bool, None, "List the contract's sentences with their checks; make no call.", False),
    _option("json", bool, None, "Print one JSON object on stdout instead of text.", False),
    _option("one_file", Path, "WAV", "A one-file credential known to be accepted."),
    _option("pair", _PAIR, "AUDIO SIDECAR", "A legacy pair known to be accepted."),
    _option("sidecar_field", str, "NAME", "The sidecar's wire name."),
    _option("local_seal", Path, "WAV", "A WAV with an artist-device seal that was never registered."),
    _option("unregistered", Path, "WAV", "A WAV with a credential that is not registered."),
    _option("unregistered_pair", _PAIR, "AUDIO SIDECAR", "A legacy pair that is not registered."),
    _option("proof", str, "ID", "A proof held under the key; by default the newest listed."),
    _option("pending_proof", str, "ID", "A proof held under the key that is not issued yet."),
    _option("second_key_file", Path, "FILE", "Another key of the same tenant."),
    _option("other_key_file", Path, "FILE", "A key of another tenant of the same service."),
    _option("other_environment_key_file", Path, "FILE", "A key of another environment, which must be refused."),
    _option("grace_key_file", Path, "FILE", "A key rotated less than 72 hours ago, which must still work."),
    _option("expired_key_file", Path, "FILE", "A key rotated more than 72 hours ago, which must be refused."),
    _option("new_key_file", Path, "FILE", "Where the new key of a rotation is written; must not exist."),
    _option("erase_proof", str, "ID", "A proof held under the key that may be erased for good."),
    _option("erase_pair", _PAIR, "AUDIO SIDECAR", "An accepted pair whose proof may be erased for good."),
    _option("slot_seconds", float, "N", "Lifetime of a slot; the check waits for its end.", min=0),
)


def with_options(command: Callable[..., int], more: Mapping[str, Any]) -> Callable[..., int]:
    """Return a command with all options, and `more` by name; it gets the context and what was given."""

    def conformance(context: typer.Context, **given: Any) -> int:  # noqa: ANN401 - each option has its own type
        return command(context, given)

    others = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=each, annotation=str | None) for name, each in more.items()
    ]
    context = list(signature(conformance).parameters.values())[:1]
    conformance.__signature__ = Signature([*context, *_OPTIONS[:3], *others, *_OPTIONS[3:]])  # type: ignore[attr-defined]  # Typer reads the options there
    conformance.__annotations__ = {"context": typer.Context}
    conformance.__doc__ = command.__doc__
    return conformance


def with_file(given: Given) -> Given:
    """Complete what was given from the file of `--inputs`; names of files in it are from its own folder.

    Raises:
        Stop: the file cannot be read, or names what is no option.
    """
    file = given["inputs"]
    if file is None:
        return given
    try:
        told = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise Stop(f"{file} cannot be read as JSON ({type(error).__name__}).") from None
    kinds = {option.name: str(option.annotation) for option in _OPTIONS}
    unknown = [str(name) for name in told if name not in kinds] if isinstance(told, dict) else ["no object"]
    if unknown:
        raise Stop(f"{file} names {unknown[0]!r}, which is no option.")
    read = {name: _told(value, file.parent) if "Path" in kinds[name] else value for name, value in told.items()}
    return {name: value or read.get(name, value) for name, value in given.items()}


def _told(value: object, folder: Path) -> object:
    return tuple(folder / str(each) for each in value) if isinstance(value, list) else folder / str(value)


def inputs_of(given: Given) -> Inputs:
    """Return the inputs that were given, with the keys that were given as files.

    Raises:
        Stop: a file is missing or cannot be read.
    """
    for name in _FILES:
        value = given.get(name)
        for file in value if isinstance(value, tuple) else (value,):
            if file is not None and not file.is_file():
                raise Stop(f"There is no file {file}.")
    members = {field.name: given.get(field.name) for field in fields(Inputs)}
    return Inputs(**members | {name: secret_in(given.get(f"{name}_file")) for name in _SECRETS})


def secret_in(file: Path | None) -> str | None:
    """Return the key that a file holds; None without a file."""
    if file is None:
        return None
    try:
        secret = file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise Stop(f"The key file {file} cannot be read.") from None
    if not secret.isascii() or not secret.isprintable() or not secret or " " in secret:
        raise Stop(f"The key file {file} must hold one key and nothing else.")
    return secret
