"""A door in front of a server that can be shut: to who wants in, the server is gone. Or it may say nothing any more."""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

PIECE_BYTES = 64 * 1024


class Gate:
    """Lets connections through to a server at `url`, from one of its own."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self._target = (target.hostname, target.port)
        self._door = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._is_open = True
        self._flows = threading.Event()
        self._flows.set()
        self._lock = threading.Lock()
        self._inside: set[socket.socket] = set()
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}{target.path}"
        threading.Thread(target=self._watch, daemon=True).start()

    def shut(self) -> None:
        """Cut every connection, and each new one as it comes."""
        with self._lock:
            self._is_open = False
            for each in self._inside:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """Let everybody in, and nothing through: neither what is asked nor what is answered."""
        self._flows.clear()

    def open(self) -> None:
        """Let them through again, with all that was held."""
        with self._lock:
            self._is_open = True
        self._flows.set()

    def close(self) -> None:
        """Be gone for good."""
        self.shut()
        self._flows.set()
        self._door.close()

    def _watch(self) -> None:
        with suppress(OSError):
            while True:
                visitor, _ = self._door.accept()
                self._lead(visitor)

    def _lead(self, visitor: socket.socket) -> None:
        with self._lock:
            if not self._is_open:
                visitor.close()
                return
            server = socket.create_connection(self._target)
            self._inside |= {visitor, server}
        for source, sink in ((visitor, server), (server, visitor)):
            threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        """Hand on what comes until one of the two is done; each end is closed by the thread that reads from it."""
        with suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                self._flows.wait()
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._inside.discard(source)
        source.close()
