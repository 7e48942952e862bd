"""The one switch that ends a leg early, for whatever reason."""

import threading

from proofsweep.domain.errors import RunMustStop


class StopSwitch:
    """Keeps the first `reason` to stop; `is_aborted` if calls in flight are aborted, too. Thread-safe."""

    def __init__(self) -> None:
        self._pulled = threading.Event()
        self.reason: RunMustStop | None = None
        self.is_aborted = False

    def pull(self, reason: RunMustStop) -> None:
        if self.reason is None:
            self.reason = reason
        self._pulled.set()

    def abort(self) -> None:
        """Let all threads abandon work in hand, too, if the switch was pulled."""
        self.is_aborted = self._pulled.is_set()

    def check(self) -> None:
        why = self.reason
        if why is not None:  # a new error: several threads may raise at once
            raise RunMustStop(why.message, ended_by=why.ended_by, quota_reset=why.quota_reset)

    def rest(self, seconds: float) -> None:
        """Wait, unless the leg ends; RunMustStop if the switch was pulled, before or while waiting."""
        self._pulled.wait(max(0.0, seconds))
        self.check()
