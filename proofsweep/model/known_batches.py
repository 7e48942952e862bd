"""What passes over a watched folder remember of the deliveries in it. Pure."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(slots=True, kw_only=True)
class KnownBatches:
    """What the passes so far know of the deliveries that lie in a watched folder."""

    # when a pass first saw each, by the location of its folder.
    since: dict[str, datetime] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)  # in which batches with a completion file lay
    senders: set[str] = field(default_factory=set)
