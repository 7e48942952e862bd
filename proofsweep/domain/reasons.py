"""Why a row was not accepted: each reason has one entry in reasons.toml, with all that code and docs know of it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pkgutil import get_data
from types import MappingProxyType


class Reason(StrEnum):
    """Our own words for the `reason` column; a verdict that is not accepted is its own reason."""

    MISSING_AUDIO = "missing_audio"
    CELL_ERROR = "cell_error"
    MISSING_SIDECAR = "missing_sidecar"
    AMBIGUOUS_SIDECAR = "ambiguous_sidecar"
    SIDECAR_FIELD_UNKNOWN = "sidecar_field_unknown"
    NO_ASSET = "no_asset"
    EMPTY = "empty"
    TOO_LARGE = "too_large"
    SIDECAR_TOO_LARGE = "sidecar_too_large"
    NOT_WAV = "not_wav"
    UNLISTED_FORMAT = "unlisted_format"
    DAMAGED_IN_DELIVERY = "damaged_in_delivery"
    NO_CREDENTIAL = "no_credential"
    UNFINISHED = "unfinished"
    STAND_IN = "stand_in"
    NOT_IN_MESSAGE = "not_in_message"
    UNREADABLE_MESSAGE = "unreadable_message"
    CLOSED_MESSAGE = "closed_message"
    TEST_MESSAGE = "test_message"
    WITHDRAWN = "withdrawn"
    CLIP = "clip"
    UNREADABLE_FILE = "unreadable_file"
    UNREADABLE_FOLDER = "unreadable_folder"
    OUTSIDE_CATALOG = "outside_catalog"
    SOURCE_FORBIDDEN = "source_forbidden"
    ARCHIVED = "archived"
    SOURCE_UNAVAILABLE = "source_unavailable"
    SOURCE_CHANGED = "source_changed"
    SLOT_REFUSED = "slot_refused"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_ANSWER = "bad_answer"
    UNKNOWN_VERDICT = "unknown_verdict"
    CONTRADICTORY_ANSWER = "contradictory_answer"


HINDERS_NOTHING = frozenset({Reason.CLIP})
"""Reasons of files that nobody has to verify: nothing is to be done about them."""


class AtFault(StrEnum):
    FILE = "the file"
    SOURCE = "our side"  # the catalog, a permission, the place of the files, a setting
    SERVICE = "the service"


class Heals(StrEnum):
    """Whether a file may come out otherwise although it is the same."""

    NEVER = "no"
    HERE = "yes"  # by a setting, a permission, a delivery, a restore
    AT_SERVICE = "at the service"  # by a registration


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonEntry:
    plain: str  # what is wrong: a clause of at most 60 characters, without the words of columns and verdicts
    meaning: str  # when a row has it, in a sentence
    remedy: str  # what a person does, in a clause
    at_fault: AtFault
    heals: Heals = Heals.NEVER  # whether the row may come out otherwise without a new version of the file
    tells_supplier: bool = False  # whether the supplier of a rejected or ineligible file hears of it
    may_be_outage: bool = False  # whether it may also say that a whole folder or bucket is away


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A row that cannot be sent, because of the catalog or the file. It costs no call."""

    reason: Reason
    detail: str


@cache
def reason_entries() -> Mapping[str, ReasonEntry]:
    """Return every reason by its word in the `reason` column: the verdicts but `valid`, then ours."""
    content = get_data(__package__, "reasons.toml") or b""
    written = tomllib.loads(content.decode())
    for members in written.values():
        members["at_fault"] = AtFault(members["at_fault"])
        members["heals"] = Heals(members.get("heals", Heals.NEVER))
    entries = {word: ReasonEntry(**members) for word, members in written.items()}
    return MappingProxyType(entries)


_ACCEPTED = ReasonEntry(
    plain="the service confirmed the credential",
    meaning="The file was accepted.",
    remedy="accept the credential",
    at_fault=AtFault.SERVICE,
)
_ANY_OTHER = ReasonEntry(
    plain="the service gave no answer that can be used",
    meaning="A reason without an entry, such as a status of the service.",
    remedy="verify again; if it stays, report the request IDs to the partner",
    at_fault=AtFault.SERVICE,
    tells_supplier=True,
)


def about(reason: str | None, outcome: str = "") -> ReasonEntry:
    """Return what is known of a reason; statuses of the service, `http_422` and others, share one entry."""
    if outcome == "accepted":
        return _ACCEPTED
    return reason_entries().get(reason or "", _ANY_OTHER)
