import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from inspect import Parameter, signature

from proofsweep.domain.errors import ProofsweepError

FACTS = {
    "stage": "verify",
    "reason": "http_500",
    "status": 500,
    "code": "internal",
    "request_id": "req-1",
    "catalog": "a.csv",
    "skipped": 3,
    "unmet": 2,
    "ended_by": "key_refused",
    "is_outage": True,
    "quota_reset": datetime(2026, 12, 1, tzinfo=UTC),
}
"""A value of each fact that a class of errors asks for by name."""


def kinds_below(kind: type[ProofsweepError]) -> Iterator[type[ProofsweepError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from kinds_below(each)


def test_every_error_survives_pickling() -> None:
    """An error that a worker process raises is the same in the process that receives it."""
    kinds = {*kinds_below(ProofsweepError)}
    for kind in kinds:
        named = [each.name for each in signature(kind).parameters.values() if each.kind is Parameter.KEYWORD_ONLY]
        error = kind("It went wrong.", **{name: FACTS[name] for name in named})

        received = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

        assert (type(received), str(received), vars(received)) == (kind, str(error), vars(error))
    assert len(kinds) > 10
