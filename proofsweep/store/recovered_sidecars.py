"""Which sidecars a recovery has written, by the table `recoveries`."""

import pyarrow.compute as pc

from proofsweep.store.plans_and_parts import Results

_COLUMNS = ["recovered_to", "sidecar_sha256"]


def recovered_sidecars(results: Results) -> frozenset[tuple[str, str]]:
    """Return the location and the hex sha256 of each sidecar that recoveries have written.

    ResultsError if a part cannot be read.
    """
    table = results.table("recoveries", results.all_parts("recoveries"), _COLUMNS)
    written = table.filter(pc.is_valid(table["recovered_to"]))
    return frozenset(zip(*(written[name].to_pylist() for name in _COLUMNS), strict=True))
