"""The proofs that the service holds: list them, reconcile them with the answers, get lost sidecars back."""
