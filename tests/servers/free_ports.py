"""Ports for servers that start later, kept from every other process of this machine until then."""

import random
import socket

BELOW_CLIENTS = range(15_000, 32_000)
"""Systems give clients' connections and servers on port 0 higher numbers: those are taken while a server starts."""

_claims: list[socket.socket] = []


def free_ports(count: int) -> list[int]:
    """Return ports that nobody else gets while this process lives."""
    return [_claimed() for _ in range(count)]


def _claimed() -> int:
    """Claim a port by its UDP twin, which no server under test wants, and which ends with this process."""
    while True:
        port = random.choice(BELOW_CLIENTS)  # noqa: S311 - no secret
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", port))
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
