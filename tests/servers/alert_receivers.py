"""Receivers of alerts on this machine, over real sockets: a webhook, and a mail server."""

import email
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from .free_ports import free_ports


@dataclass(slots=True)
class Webhook:
    """What was posted, and how it is answered."""

    port: int = 0
    posts: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # path and JSON of each request
    status: int = 200  # of each answer
    stalled: threading.Event = field(default_factory=threading.Event)  # until it is set, no request is answered
    secret: str = "s3cr3t-path"  # in its URL, which nobody may print

    @property
    def url(self) -> str:
        """The URL as apprise reads it."""
        return f"json://127.0.0.1:{self.port}/{self.secret}"

    @property
    def titles(self) -> list[str]:
        return [post["title"] for _, post in self.posts]

    @property
    def last(self) -> dict[str, str]:
        return self.posts[-1][1]


def end_of(catalog: object) -> str:
    """Give the end of a catalog's location, as titles have it."""
    return "/".join(str(catalog).split("/")[-2:])


@contextmanager
def webhook() -> Iterator[Webhook]:
    hook = Webhook()
    hook.stalled.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            hook.stalled.wait(60)
            hook.posts.append((self.path, json.loads(body)))
            self.send_response(hook.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base names it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hook.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hook
    finally:
        hook.stalled.set()
        server.shutdown()
        server.server_close()


@dataclass(slots=True)
class Mailbox:
    port: int
    messages: list[EmailMessage] = field(default_factory=list)

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        """Keep a message."""
        message = email.message_from_bytes(envelope.content or b"", policy=default)  # type: ignore[arg-type]
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        return "250 taken"


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    [port] = free_ports(1)  # the controller wants to know its port before it has one
    box = Mailbox(port)
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
