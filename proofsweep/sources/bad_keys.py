"""List the keys of a bucket, also around those that cannot be requested, which spoil whole pages of a listing."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import obstore

from proofsweep.config.buckets import FAILURES, FailureKind, failure_of
from proofsweep.config.locations import one_line
from proofsweep.domain.items import FileFacts

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

# S3 lists at most so many keys in one answer.
_PAGE_KEYS = 1_000
_NAMED = re.compile(r'[Pp]ath "(.*?)"(?: contained empty|: Encountered illegal)', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def facts_of(meta: "ObjectMeta") -> FileFacts:
    """Return an object's facts, with a version that does not depend on how the ETag is quoted."""
    etag = meta["e_tag"]
    version = etag.removeprefix("W/").strip('"') if etag else f"{meta['size']}-{meta['last_modified'].isoformat()}"
    return FileFacts(meta["size"], version, meta["last_modified"].timestamp())


def pages(store: "ObjectStore", prefix: str, after: str | None) -> Iterator[tuple[str, FileFacts]]:
    """Yield the keys below a prefix, after one, with their facts, in order."""
    for page in obstore.list(store, prefix or None, offset=after, chunk_size=_PAGE_KEYS):
        yield from ((meta["path"], facts_of(meta)) for meta in page if meta["path"].startswith(prefix))


def bad_key_of(error: Exception) -> str | None:
    """Return the key that cannot be requested, up to the part that is wrong; None of another failure."""
    found = _NAMED.search(str(error)) if failure_of(error).kind is FailureKind.BAD_KEY else None
    if found is None:
        return None
    parts = found[1].split("/")
    at = next((at for at, part in enumerate(parts) if _is_bad(part)), len(parts) - 1)
    return "/".join([*parts[: at + 1], *[""][: len(parts) - at - 1]])


def bad_key_words(key: str) -> str:
    return (
        f"The key {one_line(key)} has an empty part, a dot part or a control character, and cannot be requested; while "
        "it is there, keys before it in its folder may not be listed: rename it."
    )


def around_bad_keys(store: "ObjectStore", prefix: str, bad: set[str]) -> Iterator[tuple[str, FileFacts]]:
    """Yield keys folder by folder, so that a bad key hides no other folder; keys of its own folder only after it."""
    try:
        found = obstore.list_with_delimiter(store, prefix or None)
        yield from ((meta["path"], facts_of(meta)) for meta in found["objects"])
        for each in found["common_prefixes"]:
            yield from around_bad_keys(store, f"{each}/", bad)
    except FAILURES as error:
        key, before, after = bad_key_of(error), "", ""
        while key is not None:
            bad.add(key)
            below, _, more = key[len(prefix) :].partition("/")
            if more and not _is_bad(below):  # it lies in a folder of this folder
                key = f"{prefix}{below}/"
                yield from around_bad_keys(store, key, bad)
            before, after, key = after, _next_of(key), None
            if after <= before:  # the store lists from the beginning again
                return
            try:
                yield from pages(store, prefix, after)
            except FAILURES as other:
                if (key := bad_key_of(other)) is None:
                    raise
            else:
                return
        raise


def _is_bad(part: str) -> bool:
    return part in {"", ".", ".."} or _CONTROL.search(part) is not None


def _next_of(key: str) -> str:
    """Return a key that can be named, and comes after all that begin with this one."""
    found = _CONTROL.search(key)
    return f"{key.removesuffix('/')}0" if found is None else key[: found.start()] + (" " if found[0] < " " else "\x80")
