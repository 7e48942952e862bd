"""Sample catalogs: small audio files with known verdicts."""

from sandbox.samples.catalog import Sample, write_catalog

__all__ = ["Sample", "write_catalog"]
