"""Every error that leaves proofsweep, in one tree.

ProofsweepError
├── UsageError                the request cannot be carried out, and nothing was written; says what to change
│   ├── ConfigError           a setting, a profile or the place of the key is wrong
│   ├── CatalogError          a manifest or folder cannot be read
│   │   └── EmptyCatalog      it has no row or no audio, or nothing lies below its prefix
│   │       └── NothingDue    all its rows have an answer that is new enough
│   └── ResultsError          a results store cannot be read or written, or has no such run
├── RunIsActive               another leg of this run is active
├── NameTaken                 the store already has an object of that name: another leg did this work
├── SourceError               one audio file or sidecar cannot be read; has the row's reason
│   └── ResourceShortage      too few open files, or too little memory, here: that says nothing about the file
├── RotationUnfinished        a new key is not in its place yet; the same command goes on with it
├── ServiceError              the partner's side gave no usable answer
│   ├── CallFailed            one call failed, and no retry is left
│   │   └── CallNotMade       too few open files or ports, or too little memory, here: that says nothing about the item
│   ├── SlotRefused           the storage target did not store the audio
│   └── SlotSpent             this slot cannot be used any more; a new one may work
└── RunMustStop               this leg can make no more calls; has the reason
"""

import errno
from datetime import datetime
from http import HTTPStatus

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.text import printable

# Errors of the system that tell of this machine alone: it has too few open files or ports, or too little memory.
SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EADDRNOTAVAIL})
DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# Errors of a disk or a mount that may work again without a change of settings or rights.
DISK_FAILS = DISK_IS_FULL | SHORTAGES | {errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN, errno.ETIMEDOUT}


class ProofsweepError(Exception):
    """Base of all: a message for a person, on one line; subclasses have the facts that support asks for.

    `catalog` is the location of one that could not be read, if it may be there, or hold rows, another day. Every
    subclass can be pickled, because errors cross from worker processes to the flow.
    """

    def __init__(self, message: str, *, catalog: str | None = None) -> None:
        self.message = printable(message)
        super().__init__(self.message)
        self.catalog = catalog

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_blank, (type(self), self.message), self.__dict__)


def _blank(kind: type[ProofsweepError], message: str) -> ProofsweepError:
    return kind.__new__(kind, message)


class UsageError(ProofsweepError): ...


class ConfigError(UsageError): ...


def missing_extra(what: str, extra: str) -> ConfigError:
    """Return the error of something that needs an extra of this distribution, which is not installed."""
    return ConfigError(f"{what} needs packages that are not installed: pip install 'proofsweep[{extra}]'.")


class CatalogError(UsageError): ...


class EmptyCatalog(CatalogError): ...


class NothingDue(EmptyCatalog):
    """No row of the catalog is due.

    `skipped` is how many rows it has, and `unmet` how many of them do not meet a person's conditions.
    """

    def __init__(self, message: str, *, skipped: int, unmet: int = 0) -> None:
        super().__init__(message)
        self.skipped, self.unmet = skipped, unmet


class ResultsError(UsageError):
    """A results store cannot be used. `is_outage` says that it can once its disk, mount or server works again."""

    def __init__(self, message: str, *, is_outage: bool = False) -> None:
        super().__init__(message)
        self.is_outage = is_outage


class RunIsActive(ProofsweepError): ...


class NameTaken(ProofsweepError): ...


class SourceError(ProofsweepError):
    """One file of the catalog cannot be read; `reason` is the word for the row's `reason` column."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ResourceShortage(SourceError): ...


class RotationUnfinished(ProofsweepError): ...


class ServiceError(ProofsweepError):
    """The partner's side gave no usable answer; the message holds no URL, key or body."""

    def __init__(
        self,
        message: str,
        *,
        stage: str,  # the call that failed (`uploads`, `slot`, `verify`, …)
        reason: str,  # the word for the row's `reason` column
        status: int | None = None,  # HTTP status of the last answer, if there was one
        code: str | None = None,  # ApiError code of the last answer, as received
        request_id: str | None = None,  # X-Request-Id of the last exchange
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.reason = reason
        self.status = status
        self.code = code
        self.request_id = request_id


class CallFailed(ServiceError):
    @property
    def is_outage(self) -> bool:
        """Whether the service is down, does not answer or throttles. That says nothing about the request."""
        is_busy = self.reason.startswith("http_5") or self.status == HTTPStatus.TOO_MANY_REQUESTS
        return is_busy or self.is_blocked or self.reason in {"timeout", "connection"}  # as `exchanges.Failure` has them

    @property
    def is_blocked(self) -> bool:
        """Whether something on the way refused a keyed call, such as a firewall: the service's own 403 has a code."""
        is_keyed = self.stage not in {"health", "download"}  # as `exchanges.Call` has them
        return is_keyed and self.status == HTTPStatus.FORBIDDEN and self.code is None


class CallNotMade(CallFailed): ...


class SlotRefused(ServiceError): ...


class SlotSpent(ServiceError): ...


class RunMustStop(ProofsweepError):
    """This leg can make no more calls; the rows without an outcome remain.

    `ended_by` is how the leg ends because of it; `quota_reset` is when a used-up quota resets, by the last answer.
    """

    def __init__(
        self, message: str, *, ended_by: EndedBy, quota_reset: datetime | None = None, catalog: str | None = None
    ) -> None:
        super().__init__(message, catalog=catalog)
        self.ended_by = EndedBy(ended_by)
        self.quota_reset = quota_reset
