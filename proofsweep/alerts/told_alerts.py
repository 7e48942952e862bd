"""What was told, in one small object that is replaced. If it is lost, alerts are told once more."""

import json
from datetime import UTC, datetime

from proofsweep.alerts.memory import ToldCauses
from proofsweep.model import layout
from proofsweep.store.store import Store


def read_told(store: Store) -> ToldCauses:
    """Read which causes were told when; nothing if there is no such object, or if it cannot be understood.

    Raises:
        ResultsError: the store cannot be read.
    """
    content = store.read(layout.told_alerts_name())
    try:
        cells = json.loads(content or b"{}")
        return ToldCauses({str(cause): datetime.fromisoformat(at).astimezone(UTC) for cause, at in cells.items()})
    except (ValueError, TypeError, AttributeError):
        return ToldCauses({})


def write_told(store: Store, told: ToldCauses) -> None:
    """Write which causes were told when. Of two processes that write at once, one loses; its causes are told again.

    Raises:
        ResultsError: the store cannot be written.
    """
    cells = {cause: at.isoformat() for cause, at in sorted(told.at.items())}
    store.replace(layout.told_alerts_name(), json.dumps(cells, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
