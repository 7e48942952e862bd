"""What proofsweep does with each endpoint of the contract: the table of the README."""

from dataclasses import dataclass

from proofsweep.domain.exchanges import Call
from proofsweep.reports.explain import ENDPOINTS


@dataclass(frozen=True, slots=True)
class Use:
    commands: tuple[str, ...]
    flow: str | None
    tables: tuple[str, ...]


USES = {
    Call.HEALTH: Use(("service health", "service monitor", "doctor"), "monitor_service", ("probes",)),
    Call.KEYS: Use(("keys list",), None, ()),
    Call.ROTATE: Use(("keys rotate",), "rotate_key", ("rotations",)),
    Call.USAGE: Use(("service usage", "service monitor"), "monitor_service", ("probes",)),
    Call.PROOFS: Use(("proofs inventory", "proofs list"), "inventory_proofs", ("proofs",)),
    Call.PROOF: Use(("proofs recover", "proofs show"), "recover_sidecars", ("recoveries",)),
    Call.ERASE: Use(("proofs erase",), "erase_proofs", ("erasures",)),
    Call.ASSET: Use(("proofs verify",), "verify_proofs", ("verdicts",)),
    Call.INTERPRETATION: Use(("proofs notes",), "refresh_interpretations", ("interpretations",)),
    Call.UPLOADS: Use(("verify", "check", "ingest"), "verify_catalog", ("verdicts",)),
    Call.VERIFY: Use(("verify", "check", "ingest"), "verify_catalog", ("verdicts",)),
}
"""By the contract's endpoints, in their order."""


def endpoints_table() -> str:
    lines = ["| contract | command | flow | table |", "|---|---|---|---|"]
    for call, use in USES.items():
        commands, tables = (", ".join(f"`{name}`" for name in names) or "none" for names in (use.commands, use.tables))
        lines.append(f"| `{ENDPOINTS[call]}` | {commands} | {f'`{use.flow}`' if use.flow else 'none'} | {tables} |")
    return "\n".join(lines) + "\n"
