"""Every error that leaves proofsweep, in one tree.

ProofsweepError
├── UsageError                what the person asked for cannot be done; nothing was written
│   ├── ConfigError           a setting, a profile, the key's whereabouts
│   ├── CatalogError          a manifest or folder that is empty or cannot be read
│   └── ResultsError          a results store that cannot be read or written, or holds no such run
├── RunIsActive               another leg of this run is alive
├── NameTaken                 an object of that name is in the store already
├── SourceError               one audio file or sidecar cannot be read; carries the row's reason
├── ServiceError              the partner's side did not give an answer that can be used
│   ├── CallFailed            one call failed for good
│   ├── SlotRefused           the storage target did not store the audio
│   └── SlotSpent             this slot will not do any more, a fresh one may
└── RunMustStop               nothing more can be asked in this leg; carries what ended it
"""

from collections.abc import Callable
from datetime import datetime


class ProofsweepError(Exception):
    """Base of all: a message for a person, and whatever support will ask for.

    Every subclass may be pickled, as errors cross from worker processes to the flow.
    """

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.facts))


def _rebuild(kind: Callable[..., ProofsweepError], message: str, facts: dict[str, object]) -> ProofsweepError:
    return kind(message, **facts)


class UsageError(ProofsweepError):
    """What was asked for cannot be done as it stands; the message says what to change."""


class ConfigError(UsageError):
    """A setting is missing, malformed or contradicts another."""


class CatalogError(UsageError):
    """The catalog is empty, or cannot be read as one."""


class ResultsError(UsageError):
    """The results store cannot be read or written, or holds no such run."""


class RunIsActive(ProofsweepError):
    """Another leg of this run is alive; only one may be."""


class NameTaken(ProofsweepError):
    """An object of that name exists already: somebody else did this work."""


class SourceError(ProofsweepError):
    """One file of the catalog cannot be read as it should.

    Args:
        message: one sentence for a person.
        reason: the slug for the row's `reason` column.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message, reason=reason)
        self.reason = reason


class ServiceError(ProofsweepError):
    """The partner's side gave no answer that can be used.

    Args:
        message: one sentence for a person; holds no URL, key or body.
        stage: the call that failed (`uploads`, `slot`, `verify`, …).
        reason: the slug for the row's `reason` column.
        status: HTTP status of the last answer, if there was one.
        code: ApiError code of the last answer, as received.
        request_id: the partner's id of the last exchange.
    """

    def __init__(
        self,
        message: str,
        *,
        stage: str,
        reason: str,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, stage=stage, reason=reason, status=status, code=code, request_id=request_id)
        self.stage = stage
        self.reason = reason
        self.status = status
        self.code = code
        self.request_id = request_id


class CallFailed(ServiceError):
    """A call of the API failed, and the retry rule has nothing more to try."""


class SlotRefused(ServiceError):
    """The storage target did not take the audio: it is not stored, so there is nothing to verify."""


class SlotSpent(ServiceError):
    """This slot is of no use any more, but a fresh one may be: begin again with POST /uploads."""


class RunMustStop(ProofsweepError):
    """Nothing more can be asked in this leg; what is not answered remains.

    Args:
        message: one sentence for a person.
        ended_by: the word for the `runs` table (`breaker`, `quota`, `key_refused`, `cancelled` …).
        quota_reset: when a used-up quota begins anew, as the service told it.
    """

    def __init__(self, message: str, *, ended_by: str, quota_reset: datetime | None = None) -> None:
        super().__init__(message, ended_by=ended_by, quota_reset=quota_reset)
        self.ended_by = ended_by
        self.quota_reset = quota_reset
