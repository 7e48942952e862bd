"""The checks, one module per subject; each name begins with the section of the contract."""
