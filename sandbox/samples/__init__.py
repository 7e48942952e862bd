"""Sample catalogs: small audio files of which it is known how each must be answered."""

from sandbox.samples.catalog import Sample, write_catalog

__all__ = ["Sample", "write_catalog"]
