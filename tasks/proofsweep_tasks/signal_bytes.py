"""Signals as bytes that a thread can wait for: each signal sends its number, and the end of the work sends `OVER`."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

OVER = 0  # no signal has this number
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextmanager
def signals_sent_to(writer: socket.socket) -> Iterator[None]:
    """Send the number of each signal to the wakeup writer at once, and `OVER` at the end."""
    writer.setblocking(False)
    wakeup_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    caught = set(_SIGNALS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by `nohup`
        caught.discard(signal.SIGHUP)
    # Prefect sets handlers before a flow's body runs. Ours replace them inside the flow and do nothing: Python runs
    # handlers only in the main thread, and that thread sleeps on when the system gives the signal to another one.
    handlers_before = {number: signal.signal(number, lambda _number, _frame: None) for number in caught}
    try:
        yield
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup_before)
        writer.send(bytes([OVER]))


def next_signal(reader: socket.socket, seconds: float | None = None, without: int | None = None) -> int:
    """Wait for one of ours or `OVER`; other signals that Python handles come too. TimeoutError if none came."""
    wanted = {*_SIGNALS, OVER} - {without}
    reader.settimeout(seconds)
    while (number := reader.recv(1)[0]) not in wanted:
        pass
    return number
