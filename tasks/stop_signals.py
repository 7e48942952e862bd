"""Hear Ctrl-C and SIGTERM, whichever thread the system hands them to."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OVER = 0
"""What is heard instead of a signal when there is nothing more to stop."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def told_of_signals(listen: Callable[[socket.socket], None]) -> Iterator[None]:
    """Let `listen` hear signals to stop, in a thread of its own, until what is inside is over.

    Prefect sets handlers of its own before a flow's body runs, so ours are set inside it, and put back after it. They
    do nothing: Python runs them in the main thread alone, which sleeps on when the system hands a signal to another
    one. The bell is rung at once, whichever thread was hit, and who hears it may take any lock.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ear, bell = socket.socketpair()
    bell.setblocking(False)
    thread = threading.Thread(target=listen, args=(ear,), name="signals", daemon=True)
    thread.start()
    bell_before = signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(bell_before)
        bell.send(bytes([OVER]))
        thread.join()
        bell.close()
        ear.close()


def next_signal(ear: socket.socket, seconds: float | None = None) -> int:
    """Wait for a signal to stop, or for the end (`OVER`); other signals that Python handles ring the same bell.

    Raises:
        TimeoutError: neither came in these seconds.
    """
    ear.settimeout(seconds)
    while (number := ear.recv(1)[0]) not in {*_SIGNALS, OVER}:
        pass
    return number
