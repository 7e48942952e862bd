"""`proofsweep sandbox`: a local partner service that also issues proofs for your own files."""

import csv
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import httpx
import typer

from proofsweep.config.certificates import require_certificates
from proofsweep.config.locations import new_file, split_url
from proofsweep.domain.errors import ConfigError, missing_extra
from proofsweep_cli.command import quoted
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import BLUE, console
from proofsweep_sandbox import Operator, OperatorError, Running, Sample, launch, write_catalog
from proofsweep_sandbox import Options as SandboxOptions

_HOME = Path(".proofsweep-sandbox")
_SUPPLIERS = ("North", "South")
_DEFAULT = SandboxOptions(home=_HOME)

_OperatorUrl = typer.Option(
    None,
    "--operator",
    metavar="URL",
    help="The sandbox's operator port; by default that of the sandbox that the settings name, two after its API's, "
    f"else {_DEFAULT.operator_port}.",
)

sandbox_group = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@sandbox_group.callback()
def sandbox(
    context: typer.Context,
    home: Path = typer.Option(
        _HOME, "--home", metavar="DIR", help="For its key, registry and uploads; kept between runs."
    ),
    port: int = typer.Option(
        _DEFAULT.port,
        "--port",
        min=0,
        max=65533,
        help="The API's port; the slot target and the operator have the next two. 0 takes any free ones.",
    ),
) -> int | None:
    """The default profile, `sandbox`, uses this service at its default ports.

    Example: `proofsweep sandbox --port 9000`
    """
    require_certificates()
    if context.invoked_subcommand is not None:
        return None
    if find_spec("c2pa") is None:
        raise missing_extra("The sandbox", "sandbox")
    with _errors_explained(home):
        home.mkdir(parents=True, exist_ok=True)
    ports = _ports_from(port) if port else _free_ports()
    _require_ports(ports)
    options = SandboxOptions(home=home)
    with launch(home, ports=ports, options=options) as running, suppress(KeyboardInterrupt):
        _print_addresses(running, options.key_file)
        running.wait()
    out = console()
    out.print()
    out.print("The sandbox has ended; its home is kept.")
    return ExitCode.ACCEPTED


@sandbox_group.command()
def issue(
    files: list[Path] = typer.Argument(metavar="FILE", help="Audio files: WAV, or any other with --legacy."),
    *,
    legacy: bool = typer.Option(False, "--legacy", help="Issue a sidecar instead of a credentialed copy."),
    out: Path | None = typer.Option(
        None, "--out", metavar="DIR", help="Default: `issued`; for sidecars, beside the audio."
    ),
    operator_url: str | None = _OperatorUrl,
) -> int:
    """Let a running sandbox issue proofs for your own files.

    A WAV gets a credentialed copy. With --legacy, the audio does not change and gets a sidecar. No file is
    overwritten.

    Example: `proofsweep sandbox issue song.wav --out delivery`
    """
    operator_url = operator_url or _operator_of_settings()
    with Operator(operator_url) as operator:
        for file in files:
            with _errors_explained(file, operator_url):
                target = _target(file, out, is_legacy=legacy)
                issued = operator.issue(file, target, legacy=legacy)
            console().line(f"{issued.sidecar or issued.audio}  {issued.proof_id}")
    return ExitCode.ACCEPTED


@sandbox_group.command()
def samples(
    folder: Path = typer.Argument(metavar="FOLDER", help="A folder that is empty or does not exist."),
    files: int = typer.Option(60, "--files", min=1, help="Audio files; 26 or more contain every kind."),
    manifest: Path | None = typer.Option(
        None, "--manifest", metavar="FILE", help="Also write a manifest of them, with the tags supplier and release."
    ),
    operator_url: str | None = _OperatorUrl,
) -> int:
    """Let a running sandbox write a sample catalog: audio and sidecars with every verdict.

    Example: `proofsweep sandbox samples delivery --files 100`
    """
    operator_url = operator_url or _operator_of_settings()
    # The manifest is opened first: if it cannot be written, no sample is.
    with nullcontext() if manifest is None else new_file(manifest) as file:
        with Operator(operator_url) as operator, _errors_explained(folder, operator_url):
            if folder.exists() and any(folder.iterdir()):
                raise ConfigError(f"{folder} is not empty; name an empty or a new folder.")
            written = write_catalog(folder, operator, files=files)
        if manifest is not None and file is not None:
            text = _manifest_of(written, manifest.parent)
            file.write(text.encode("utf-8"))
    console().line(f"{folder}: {len(written)} audio files")
    return ExitCode.ACCEPTED


def _manifest_of(written: Sequence[Sample], folder: Path) -> str:
    """List files as a label does: a release is a folder, and every second release is of the other supplier."""
    releases = list(dict.fromkeys(sample.audio.parent for sample in written))
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["audio", "sidecar", "supplier", "release"])
    for sample in written:
        release = sample.audio.parent
        number = releases.index(release)
        supplier = _SUPPLIERS[number % len(_SUPPLIERS)]
        audio = os.path.relpath(sample.audio, folder)
        sidecar = ""
        if sample.sidecar:
            sidecar = os.path.relpath(sample.sidecar, folder)
        rows.writerow([audio, sidecar, supplier, release.name])
    return text.getvalue()


def _ports_from(port: int) -> tuple[int, int, int]:
    """Return the ports of the API, the slot target and the operator: the address of one tells that of the others."""
    return port, port + 1, port + 2


def _free_ports() -> tuple[int, int, int]:
    while True:
        with socket.create_server((_DEFAULT.host, 0)) as server:
            ports = _ports_from(server.getsockname()[1])
        # If one is taken, or beyond the last port, the next try has others.
        with suppress(ConfigError, OverflowError):
            _require_ports(ports)
            return ports


def _operator_of_settings() -> str:
    """Return the operator's address of the sandbox on this machine that the settings name, or of the usual one.

    Settings that cannot be read, and those of a service elsewhere, name none: audio is sent to no other machine.
    """
    from proofsweep.config.load import load_settings  # noqa: PLC0415 - to serve needs no settings

    host, port = _DEFAULT.host, _DEFAULT.port
    with suppress(ConfigError):
        service = load_settings().service
        base_url = split_url(service.base_url)
        if base_url.port is not None and not service.is_elsewhere:
            host, port = base_url.hostname or host, base_url.port
    # An IPv6 address has colons of its own.
    if ":" in host:
        host = f"[{host}]"
    return f"http://{host}:{port + 2}"


def _require_ports(ports: Iterable[int]) -> None:
    for port in ports:
        try:
            socket.create_server((_DEFAULT.host, port)).close()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise ConfigError(
                f"The port {port} cannot be used ({reason}); another sandbox may be running. "
                "Give another --port; 0 takes any free ones."
            ) from error


def _print_addresses(running: Running, key_file: Path) -> None:
    out = console()
    out.line(f"The sandbox serves at {running.base_url}", style="bold")
    out.print("In another terminal, with a WAV of your own:")
    issue = f"proofsweep sandbox issue song.wav --out music --operator {running.operator_url}"
    out.line(" ", command=issue, style=BLUE)
    key = f"PROOFSWEEP_SERVICE__API_KEY_FILE={quoted(str(key_file))}"
    settings = f"PROOFSWEEP_SERVICE__BASE_URL={running.base_url} {key}"
    out.line(" ", command=f"{settings} proofsweep verify music", style=BLUE)
    out.print("Ctrl-C ends the sandbox.")


def _target(file: Path, out: Path | None, *, is_legacy: bool) -> Path:
    folder = out or Path("issued")
    name = file.name
    if is_legacy:
        # A sidecar is found beside its audio.
        folder = out or file.parent
        name = f"{file.name}.sidecar"
    target = folder / name
    if target.exists():
        raise ConfigError(f"{target} exists and is not overwritten; name another folder by --out.")
    folder.mkdir(parents=True, exist_ok=True)
    return target


@contextmanager
def _errors_explained(what: Path, url: str = "") -> Iterator[None]:
    try:
        yield
    except OperatorError as error:
        raise ConfigError(f"The sandbox cannot issue a proof for {what}: {error}.") from error
    except OSError as error:
        raise ConfigError(f"{error.filename or what} cannot be read or written ({error.strerror}).") from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ConfigError(f"No sandbox answers at {url}; start one with `proofsweep sandbox`.") from error
    except (ValueError, KeyError) as error:
        raise ConfigError(f"The server at {url} is no sandbox's operator port; check --operator.") from error
