"""Sample catalogs: small audio files with known verdicts."""

from proofsweep_sandbox.samples.catalog import Sample, write_catalog
from proofsweep_sandbox.samples.deliveries import write_deliveries

__all__ = ["Sample", "write_catalog", "write_deliveries"]
