"""The options of a sandbox, set before it starts."""

from dataclasses import dataclass
from pathlib import Path

# Contract, Limits: 65 MiB per verification slot.
SLOT_BYTES = 65 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one sandbox; the operator API changes the rest while it runs.

    Port 0 takes any free port. Rates are in calls per second, `quota` in calls per month.
    """

    home: Path
    host: str = "127.0.0.1"
    port: int = 8725
    storage_port: int = 8726
    operator_port: int = 8727
    sidecar_field: str = "sidecar"
    seed: int = 1
    quota: int = 1_000_000
    rate: float = 2_000.0
    burst: float = 4_000.0

    @property
    def ports(self) -> tuple[int, int, int]:
        """The ports of the API, the storage and the operator API, in this order."""
        return self.port, self.storage_port, self.operator_port

    @property
    def key_file(self) -> Path:
        return self.home / "key"
