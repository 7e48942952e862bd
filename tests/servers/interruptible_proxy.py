"""A proxy in front of a server: a test can interrupt it, so that the server is gone or no longer answers."""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

PIECE_BYTES = 64 * 1024


class InterruptibleProxy:
    """Forwards connections to the server at `url`; its own address is its attribute `url`."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self._target = (target.hostname, target.port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._is_open = True
        self._flows = threading.Event()
        self._flows.set()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}{target.path}"
        threading.Thread(target=self._accept, daemon=True).start()

    def disconnect(self) -> None:
        """Break every connection, and each new one as soon as it is made."""
        with self._lock:
            self._is_open = False
            for each in self._connections:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def stall(self) -> None:
        """Accept connections, but forward neither requests nor answers."""
        self._flows.clear()

    def restore(self) -> None:
        """Forward again; what waited goes first."""
        with self._lock:
            self._is_open = True
        self._flows.set()

    def close(self) -> None:
        self.disconnect()
        self._flows.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        with self._lock:
            if not self._is_open:
                client.close()
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:  # the server is down for now
                client.close()
                return
            self._connections |= {client, server}
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        """Forward bytes until one side ends; the thread that reads from a connection closes it."""
        with suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                self._flows.wait()
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._connections.discard(source)
        source.close()
