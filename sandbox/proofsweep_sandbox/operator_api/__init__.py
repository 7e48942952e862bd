"""The operator API: controls and records outside the contract. It needs no key, so keep it on loopback."""
