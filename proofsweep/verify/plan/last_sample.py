"""The last sample of each environment, measured by `plan --sample`, in a small object that is replaced. Derived."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

from proofsweep.model.layout import sample_name
from proofsweep.store.store import Store
from proofsweep.verify.plan.forecast import Measurement


def remember_sample(store: Store, environment: str, sample: Measurement, now: datetime) -> None:
    """Write a sample in the place of the last one.

    Raises:
        ResultsError: the store cannot be written.
    """
    document = {"measured_at": now.isoformat(), "sample": asdict(sample)}
    store.replace(sample_name(environment), json.dumps(document, indent=2).encode())


def remembered_sample(store: Store, environment: str) -> tuple[Measurement, datetime] | None:
    """Give the last sample and when it was measured; None if there is none, or if it cannot be understood.

    Raises:
        ResultsError: the store cannot be read.
    """
    content = store.read(sample_name(environment))
    try:
        document = json.loads(content or b"")
        return Measurement(**document["sample"]), datetime.fromisoformat(document["measured_at"]).astimezone(UTC)
    except (ValueError, TypeError, KeyError):
        return None
