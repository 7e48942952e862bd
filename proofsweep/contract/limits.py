"""Numbers of the contract, each with the section that states it."""

SLOT_BYTES = 65 * 1024 * 1024
"""Contract, Limits: a verification slot takes 65 MiB, which is 68,157,440 bytes."""

PAGE_SIZE = range(1, 101)
"""Contract, Limits: page size of GET /partner/keys and GET /proofs."""

USAGE_DAYS = range(1, 91)
"""Contract, Limits: usage window in days."""

USAGE_DAYS_DEFAULT = 30
"""Contract, Limits: usage window when `days` is left out."""

IDEMPOTENCY_KEY_LENGTH = range(16, 129)
"""Contract, Limits: characters of an Idempotency-Key."""

REPLAY_HOURS = 24
"""Contract, Limits: how long the same Idempotency-Key gets the same answer."""

GRACE_HOURS = 72
"""Contract, Limits: how long a rotated key goes on working."""

NOTE_POLL_SECONDS = 2
"""Contract, Endpoints 9: wait between polls of a pending note, if none is suggested."""

NOTE_PATIENCE_SECONDS = 120
"""Contract, Endpoints 9: a client may stop polling after about two minutes."""

CALLS_PER_ITEM = 2
"""Contract, Core flow: one keyed POST /uploads and one keyed POST /verify; the slot's form POST has no key."""
