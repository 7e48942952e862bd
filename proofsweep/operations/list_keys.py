"""List all keys of the partner, with what the rotations of this store add."""

from collections.abc import Iterable, Iterator

from proofsweep.contract.models import KeyRecord
from proofsweep.errors import CallFailed
from proofsweep.model.key_rotation import ListedKey, Rotation
from proofsweep.partner.partner import Partner


def list_keys(partner: Partner, rotations: Iterable[Rotation], key_fingerprint: str) -> list[ListedKey]:
    """Ask for all pages, and add to each key what the recorded rotations tell of it."""
    rotations = list(rotations)
    made: dict[str | None, Rotation] = {each.new_key_id: each for each in rotations if each.new_key_id is not None}
    replaced: dict[str | None, Rotation] = {each.key_id: each for each in rotations if each.key_id is not None}
    in_use = next((key_id for key_id, each in made.items() if each.new_key_fingerprint == key_fingerprint), None)

    def listed(record: KeyRecord) -> ListedKey:
        is_in_use = None if in_use is None else record.key_id == in_use
        return ListedKey(record, is_in_use, made.get(record.key_id), replaced.get(record.key_id))

    return [listed(record) for record in _all_keys(partner)]


def _all_keys(partner: Partner) -> Iterator[KeyRecord]:
    """Follow the pages; the contract gives the whole inventory without `limit`, and allows a cursor all the same."""
    cursor, seen = None, set[str | None]()
    while cursor not in seen:
        seen.add(cursor)
        page = partner.keys(cursor=cursor)
        yield from page.keys
        cursor = page.next_cursor
        if cursor is None:
            return
    raise CallFailed("The list of keys does not end: a cursor came twice.", stage="keys", reason="bad_answer")
