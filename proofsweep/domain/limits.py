"""Numbers of the contract, each with the section that states it."""

# Contract, Limits: a verification slot takes 65 MiB, which is 68,157,440 bytes.
SLOT_BYTES = 65 * 1024 * 1024

# Contract, Limits: the days that GET /partner/usage may be asked for.
USAGE_DAYS = range(1, 91)

# Contract, Limits: characters of an Idempotency-Key.
IDEMPOTENCY_KEY_LENGTH = range(16, 129)
# Contract, Core flow: one keyed POST /uploads and one keyed POST /verify; the slot's form POST has no key.
CALLS_PER_ITEM = 2
# Contract, Endpoints 8: an item without a file is preceded by a keyed GET of its asset's URL.
MOST_CALLS_PER_ITEM = 3
