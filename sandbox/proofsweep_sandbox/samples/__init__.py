"""Sample catalogs: small audio files with known verdicts."""
