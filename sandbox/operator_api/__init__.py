"""The operator's side: what a client of the contract never sees. It has no keys; it belongs on loopback."""
