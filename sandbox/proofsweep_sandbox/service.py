"""The service: the parts that API, storage and operator API share."""

import time
from pathlib import Path

from proofsweep_sandbox.faults import Faults
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.registry.database import ExchangeLog, SecretLog, open_database
from proofsweep_sandbox.registry.keys import Keys
from proofsweep_sandbox.registry.meters import Meters
from proofsweep_sandbox.registry.proofs import Proof, Proofs
from proofsweep_sandbox.registry.slots import Slots
from proofsweep_sandbox.seals.chains import Chain
from proofsweep_sandbox.seals.identity import Signer
from proofsweep_sandbox.seals.one_file import OneFileSeals
from proofsweep_sandbox.seals.sidecars import SidecarSeals
from proofsweep_sandbox.signatures import Signatures
from proofsweep_sandbox.throttle import Lane, Throttle

# Contract, Limits: rotation has its own low lane.
_ROTATION_LANE = Lane(rate=1 / 12, burst=5)


class Clock:
    """Wall time plus an offset: a test moves it and need not wait."""

    def __init__(self) -> None:
        self._offset = 0.0

    def now(self) -> float:
        return time.time() + self._offset

    def second(self) -> int:
        """Return unix time in whole seconds, the contract's form of a timestamp."""
        return int(self.now())

    def move(self, seconds: float) -> None:
        self._offset += seconds


class Service:
    """One running sandbox; `ports` are the bound ports of API, storage and operator API."""

    def __init__(self, options: Options, ports: tuple[int, int, int]) -> None:
        """Open the home, or create it on first use."""
        self.options = options
        self.ports = ports
        for name in ("seals", "uploads", "assets"):
            self.folder(name).mkdir(parents=True, exist_ok=True, mode=0o700)
        seals = self.folder("seals")
        chains = {signer: Chain.kept(seals, signer) for signer in (Signer.SERVICE, Signer.DEVICE)}
        chains[Signer.STRANGER] = Chain.make(Signer.STRANGER)  # new on each start, so the sandbox never trusts it
        self.one_file = OneFileSeals(chains)
        self.sidecars = SidecarSeals(chains)
        self.signatures = Signatures.kept(seals / "secret")
        database = open_database(self.folder("registry.sqlite"))
        self.keys = Keys(database)
        self.meters = Meters(database)
        self.proofs = Proofs(database)
        self.slots = Slots(database)
        self.exchanges = ExchangeLog(database)
        self.secrets = SecretLog(database)
        calls = Lane(rate=options.rate, burst=options.burst)
        self.throttle = Throttle({"calls": calls, "rotate": _ROTATION_LANE})
        self.faults = Faults(options.seed)
        self.clock = Clock()
        self.started_at = self.clock.second()
        self._ensure_first_key()

    def folder(self, name: str) -> Path:
        return self.options.home / name

    def erase(self, proof: Proof) -> int:
        """Erase a proof's record and its stored audio; return the time."""
        erased_at = self.clock.second()
        self.proofs.erase(proof, erased_at)
        if proof.asset is not None:
            asset = self.folder("assets") / proof.asset
            asset.unlink(missing_ok=True)
        return erased_at

    def _ensure_first_key(self) -> None:
        """Give the first tenant the key in the home, or write a new key there."""
        if self.keys.first_tenant() is not None:
            return
        key_file = self.options.key_file
        given = key_file.read_text().strip() if key_file.exists() else ""
        first = self.keys.add_tenant("first", self.options.quota, given)
        if not given:
            key_file.touch(mode=0o600)
            key_file.write_text(f"{first.secret}\n")
