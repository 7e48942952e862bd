"""The service: the parts that API, storage and operator API share."""

import os
from dataclasses import dataclass
from pathlib import Path

from proofsweep_sandbox.clock import Clock
from proofsweep_sandbox.faults.rules import Faults
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.registry.database import open_database
from proofsweep_sandbox.registry.keys import Keys
from proofsweep_sandbox.registry.logs import ExchangeLog, SecretLog
from proofsweep_sandbox.registry.meters import Meters
from proofsweep_sandbox.registry.proofs import Proofs
from proofsweep_sandbox.registry.replays import Replays
from proofsweep_sandbox.registry.slots import Slots
from proofsweep_sandbox.seals.chains import Chain
from proofsweep_sandbox.seals.identity import Signer
from proofsweep_sandbox.seals.one_file import OneFileSeals
from proofsweep_sandbox.seals.sidecars import SidecarSeals
from proofsweep_sandbox.signatures import Signatures
from proofsweep_sandbox.throttle import Lane, Throttle
from proofsweep_sandbox.unspecified import Unspecified

# Contract, Limits: rotation has its own low lane. Chosen: 5 at once, then 1 in 12 s; the contract states no number.
_ROTATION_LANE = Lane(rate=1 / 12, burst=5)


@dataclass(slots=True, kw_only=True)
class Service:
    """One running sandbox; `ports` are the bound ports of API, storage and operator API.

    The operator can replace the last two: the unspecified behaviour and the release.
    """

    options: Options
    ports: tuple[int, int, int]
    started_at: int
    clock: Clock
    keys: Keys
    replays: Replays
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
    unspecified: Unspecified
    is_later_release: bool

    def folder(self, name: str) -> Path:
        """Return a folder of the sandbox's home."""
        return self.options.home / name


def open_service(options: Options, ports: tuple[int, int, int]) -> Service:
    """Open a home, create it on first use, and build the service."""
    for name in ("seals", "uploads", "assets"):
        (options.home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    database = open_database(options.home / "registry.sqlite")
    chains = _chains(options.home / "seals")
    clock = Clock()
    service = Service(
        options=options,
        ports=ports,
        started_at=clock.second(),
        clock=clock,
        keys=Keys(database),
        replays=Replays(database),
        meters=Meters(database),
        proofs=Proofs(database),
        slots=Slots(database),
        exchanges=ExchangeLog(database),
        secrets=SecretLog(database),
        one_file=OneFileSeals(chains),
        sidecars=SidecarSeals(chains),
        signatures=Signatures.kept(options.home / "seals" / "secret"),
        throttle=Throttle({"calls": Lane(rate=options.rate, burst=options.burst), "rotate": _ROTATION_LANE}),
        faults=Faults(options.seed),
        unspecified=Unspecified.drawn(options.silences),
        is_later_release=options.evolve,
    )
    _ensure_first_key(service)
    return service


def _chains(folder: Path) -> dict[Signer, Chain]:
    """Return the signing chains; the stranger's is new on each start, so the sandbox never trusts it."""
    return {
        Signer.SERVICE: Chain.kept(folder, Signer.SERVICE),
        Signer.DEVICE: Chain.kept(folder, Signer.DEVICE),
        Signer.STRANGER: Chain.make(Signer.STRANGER),
    }


def _ensure_first_key(service: Service) -> None:
    """Give the first tenant the key in the home, or write a new key there."""
    if service.keys.first_tenant() is not None:
        return
    key_file = service.options.key_file
    given = key_file.read_text().strip() if key_file.exists() else ""
    first = service.keys.add_tenant("first", service.options.quota, given)
    if not given:
        descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{first.secret}\n")
