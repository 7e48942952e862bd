"""What is known of one reason: the fields of an entry, and what entries of one cause have in common. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class AtFault(StrEnum):
    FILE = "the file"
    SOURCE = "our side"  # the catalog, a permission, the place of the files, a setting
    SERVICE = "the service"


class Heals(StrEnum):
    """Whether a file may come out otherwise although it is the same."""

    NEVER = "no"
    HERE = "yes"  # by a setting, a permission, a delivery, a restore
    AT_SERVICE = "at the service"  # by a registration


@dataclass(frozen=True, slots=True)
class ReasonEntry:
    word: str
    plain: str  # what is wrong, for people who do not know the column: a clause of at most 60 characters
    meaning: str  # when a row has it, in a sentence
    remedy: str  # what a person does, in a clause
    at_fault: AtFault
    tells_supplier: bool = False  # whether the supplier of a rejected or ineligible file hears of it
    heals: Heals = Heals.NEVER  # whether the row may come out otherwise without a new version of the file
    may_be_outage: bool = False  # whether it may also say that a whole folder or bucket is away


def of_file(
    word: str,
    plain: str,
    meaning: str,
    remedy: str,
    heals: Heals = Heals.NEVER,
    *,
    may_be_outage: bool = False,
    tells_supplier: bool = True,
) -> ReasonEntry:
    return ReasonEntry(word, plain, meaning, remedy, AtFault.FILE, tells_supplier, heals, may_be_outage)


def of_source(
    word: str, plain: str, meaning: str, remedy: str, heals: Heals = Heals.HERE, *, may_be_outage: bool = True
) -> ReasonEntry:
    return ReasonEntry(word, plain, meaning, remedy, AtFault.SOURCE, False, heals, may_be_outage)


def of_service(word: str, plain: str, meaning: str, remedy: str, *, tells_supplier: bool = False) -> ReasonEntry:
    return ReasonEntry(word, plain, meaning, remedy, AtFault.SERVICE, tells_supplier)
