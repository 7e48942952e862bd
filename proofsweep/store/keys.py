"""Which service each key belongs to, by its fingerprint: one small object, created at the key's first use."""

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.store import layout
from proofsweep.store.objects import JSON_OBJECT, Store, json_bytes, read_document


def bind_key(store: Store, fingerprint: str, base_url: str) -> None:
    """Record a key's service; ResultsError if it had another (contract, Authentication 6)."""
    try:
        store.create(layout.key_name(fingerprint), json_bytes({"base_url": base_url}))
    except NameTaken:
        check_key(store, fingerprint, base_url)


def check_key(store: Store, fingerprint: str, base_url: str) -> None:
    """Raise ResultsError if this key was used with another service."""
    record = read_document(store, layout.key_name(fingerprint), JSON_OBJECT) or {}
    if (bound := record.get("base_url", base_url)) != base_url:
        raise ResultsError(
            f"This key was used with {bound} before; it is not sent to {base_url}. Keys belong to one environment: "
            "check the base URL and the key's source. If the partner has moved, delete what says so: "
            f"{store.url}/{layout.key_name(fingerprint)}."
        )
