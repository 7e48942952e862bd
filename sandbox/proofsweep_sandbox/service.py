"""The service: the parts that API, storage and operator API share."""

from dataclasses import dataclass
from pathlib import Path

from proofsweep_sandbox.clock import Clock
from proofsweep_sandbox.faults import Faults
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.registry.database import open_database
from proofsweep_sandbox.registry.keys import Keys
from proofsweep_sandbox.registry.logs import ExchangeLog, SecretLog
from proofsweep_sandbox.registry.meters import Meters
from proofsweep_sandbox.registry.proofs import Proofs
from proofsweep_sandbox.registry.slots import Slots
from proofsweep_sandbox.seals.chains import Chain
from proofsweep_sandbox.seals.identity import Signer
from proofsweep_sandbox.seals.one_file import OneFileSeals
from proofsweep_sandbox.seals.sidecars import SidecarSeals
from proofsweep_sandbox.signatures import Signatures
from proofsweep_sandbox.throttle import Lane, Throttle

# Contract, Limits: rotation has its own low lane.
_ROTATION_LANE = Lane(rate=1 / 12, burst=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One running sandbox; `ports` are the bound ports of API, storage and operator API."""

    options: Options
    ports: tuple[int, int, int]
    started_at: int
    clock: Clock
    keys: Keys
    meters: Meters
    proofs: Proofs
    slots: Slots
    exchanges: ExchangeLog
    secrets: SecretLog
    one_file: OneFileSeals
    sidecars: SidecarSeals
    signatures: Signatures
    throttle: Throttle
    faults: Faults

    def folder(self, name: str) -> Path:
        """Return a folder of the sandbox's home."""
        return self.options.home / name


def open_service(options: Options, ports: tuple[int, int, int]) -> Service:
    """Open a home, create it on first use, and build the service."""
    for name in ("seals", "uploads", "assets"):
        (options.home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    database = open_database(options.home / "registry.sqlite")
    seals = options.home / "seals"
    chains = {signer: Chain.kept(seals, signer) for signer in (Signer.SERVICE, Signer.DEVICE)}
    chains[Signer.STRANGER] = Chain.make(Signer.STRANGER)  # new on each start, so the sandbox never trusts it
    clock = Clock()
    service = Service(
        options=options,
        ports=ports,
        started_at=clock.second(),
        clock=clock,
        keys=Keys(database),
        meters=Meters(database),
        proofs=Proofs(database),
        slots=Slots(database),
        exchanges=ExchangeLog(database),
        secrets=SecretLog(database),
        one_file=OneFileSeals(chains),
        sidecars=SidecarSeals(chains),
        signatures=Signatures.kept(seals / "secret"),
        throttle=Throttle({"calls": Lane(rate=options.rate, burst=options.burst), "rotate": _ROTATION_LANE}),
        faults=Faults(options.seed),
    )
    _ensure_first_key(service)
    return service


def _ensure_first_key(service: Service) -> None:
    """Give the first tenant the key in the home, or write a new key there."""
    if service.keys.first_tenant() is not None:
        return
    key_file = service.options.key_file
    given = key_file.read_text().strip() if key_file.exists() else ""
    first = service.keys.add_tenant("first", service.options.quota, given)
    if not given:
        key_file.touch(mode=0o600)
        key_file.write_text(f"{first.secret}\n")
