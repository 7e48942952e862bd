"""Keep messages on local disk while a scan goes on: what each says is needed when all are known."""

import json
from typing import IO, Any

from proofsweep.catalog.deliveries.messages import ErnMessage, MessageFile, Recording


class MessageSpool:
    """Messages by the order in which they were added, in an empty file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends = [0]

    def add(self, message: ErnMessage) -> int:
        """Keep a message, and return its number, counted from 0."""
        self._file.seek(self._ends[-1])
        self._ends.append(self._ends[-1] + self._file.write(json.dumps(message).encode()))
        return len(self._ends) - 2

    def message(self, number: int) -> ErnMessage:
        """Return the message of a number."""
        start, end = self._ends[number : number + 2]
        self._file.seek(start)
        return _message_of(json.loads(self._file.read(end - start)))


def _message_of(cells: list[Any]) -> ErnMessage:  # as `add` wrote it
    found = dict(zip(ErnMessage._fields, cells, strict=True))
    found["recordings"] = tuple(
        Recording(reference, isrc, title, artist, tuple(MessageFile(*file) for file in files))
        for reference, isrc, title, artist, files in found["recordings"]
    )
    return ErnMessage(**found | {"clips": tuple(found["clips"]), "others": tuple(found["others"])})
