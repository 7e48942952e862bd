"""A thread that receives Ctrl-C and SIGTERM, whichever thread the system gives them to."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from proofsweep.client.stop import StopSwitch
from proofsweep.config.threads import background_thread

OVER = 0
"""What the thread receives when the work is over; no signal has this number."""

STOP_ASKED = threading.Event()
"""Whether a signal has asked this process to stop. A leg may still end whole, if all its files were in flight."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signal_thread(work: Callable[[socket.socket], None], stop: StopSwitch) -> Iterator[None]:
    """Run `work(reader)` in a thread; it receives signals by `next_signal(reader)`, and `OVER` at the end.

    If the thread fails, no signal is received from then on, and the switch is pulled.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    reader, writer = socket.socketpair()
    with reader, writer, background_thread("signals", lambda _over: work(reader), stop.pull), _signals_sent_to(writer):
        yield


def next_signal(reader: socket.socket, seconds: float | None = None) -> int:
    """Wait for SIGINT, SIGTERM or `OVER`; other signals that Python handles come too, and are ignored.

    TimeoutError if none of them came in these seconds.
    """
    reader.settimeout(seconds)
    while (number := reader.recv(1)[0]) not in {*_SIGNALS, OVER}:
        pass
    return number


@contextmanager
def _signals_sent_to(writer: socket.socket) -> Iterator[None]:
    """Send the number of each signal to the wakeup writer at once, and `OVER` at the end.

    Prefect sets handlers before a flow's body runs. Ours replace them inside the flow and do nothing: Python runs
    handlers only in the main thread, and that thread sleeps on when the system gives the signal to another one.
    """
    writer.setblocking(False)
    wakeup_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    handlers_before = {number: signal.signal(number, lambda _number, _frame: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup_before)
        writer.send(bytes([OVER]))
