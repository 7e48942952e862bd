"""OpenStack Swift over one folder, as a program: an S3-compatible server that checks signatures.

    python swift_cluster.py FOLDER

It prints its URL as one line, and serves until its standard input ends, so that it ends with the process that started
it. Swift is four processes: one each for accounts, containers and objects, with one disk, and the proxy. Everything is
imported once, before the processes fork; the ports are bound before the rings that name them are written.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import eventlet
import eventlet.wsgi
from eventlet.greenio import GreenSocket
from swift.common import utils
from swift.common.ring import RingBuilder
from swift.common.wsgi import SwiftHttpProtocol, get_hub, loadapp

STORAGE = ("account", "container", "object")

SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = tests
"""

STORAGE_CONF = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
fallocate_reserve = 0

[pipeline:main]
pipeline = {name}-server

[app:{name}-server]
use = egg:swift#{name}
"""

# The proxy adds the rest to its pipeline.
PROXY_CONF = """
[DEFAULT]
swift_dir = {folder}

[pipeline:main]
pipeline = cached bulk s3api tempauth slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 10
node_timeout = 60

[filter:s3api]
use = egg:swift#s3api
location = north-1
max_bucket_listing = {page_keys}

[filter:tempauth]
use = egg:swift#tempauth
user_tests_owner = secret+of/the-owner .admin
user_tests_stranger = secret+of/the-stranger

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo

[filter:cached]
paste.filter_factory = swift_cluster:add_cache
"""

Environ = dict[str, object]
App = Callable[[Environ, Callable[..., object]], Iterable[bytes]]


class AccountCache:
    """The proxy's cache of accounts and containers, in the place of memcached."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}

    def get(self, key: str, **_: object) -> object:
        """Return the value of a key, or None."""
        return self._values.get(key)

    def set(self, key: str, value: object, **_: object) -> None:
        """Keep a value; the proxy deletes what it changes."""
        self._values[key] = value

    def delete(self, key: str, **_: object) -> None:
        """Remove a key."""
        self._values.pop(key, None)


def add_cache(_: dict[str, str], **__: str) -> Callable[[App], App]:
    """Make the filter that gives the cache to the rest of the pipeline."""
    cache = AccountCache()

    def filter_of(app: App) -> App:
        return lambda environ, start: app(environ | {"swift.cache": cache}, start)

    return filter_of


def main() -> None:
    """Serve until the standard input ends."""
    os.fsync = os.fdatasync = lambda _: None  # no test is about a power cut
    folder = Path(sys.argv[1])
    sockets = {name: socket.create_server(("127.0.0.1", 0), backlog=4096) for name in (*STORAGE, "proxy")}
    ports = {name: sock.getsockname()[1] for name, sock in sockets.items()}
    _write_configuration(folder, ports)
    print(f"http://127.0.0.1:{ports['proxy']}", flush=True)  # noqa: T201 -- connections wait in the backlog
    name = next((name for name in STORAGE if os.fork() == 0), "proxy")
    _serve(folder / f"{name}.conf", sockets[name])


def _write_configuration(folder: Path, ports: dict[str, int]) -> None:
    (folder / "devices/disk").mkdir(parents=True)
    (folder / "swift.conf").write_text(SWIFT_CONF)
    (folder / "proxy.conf").write_text(PROXY_CONF.format(folder=folder, page_keys=os.environ["SWIFT_PAGE_KEYS"]))
    utils.set_swift_dir(str(folder))
    for name in STORAGE:
        (folder / f"{name}.conf").write_text(STORAGE_CONF.format(folder=folder, name=name))
        builder = RingBuilder(part_power=0, replicas=1, min_part_hours=0)
        disk = {"region": 1, "zone": 1, "weight": 1.0, "ip": "127.0.0.1", "port": ports[name], "device": "disk"}
        builder.add_dev(disk)
        builder.rebalance()
        builder.get_ring().save(str(folder / f"{name}.ring.gz"))


def _serve(conf: Path, sock: socket.socket) -> None:
    # A hub from before the fork would wake each process for the events of all.
    eventlet.hubs.use_hub(get_hub())
    utils.monkey_patch()
    eventlet.spawn(_end_with_stdin)
    # boto's libraries accept only this spelling of ETag.
    how = {"protocol": SwiftHttpProtocol, "capitalize_response_headers": False, "log_output": False}
    eventlet.wsgi.server(GreenSocket(sock), loadapp(str(conf)), **how)


def _end_with_stdin() -> None:
    eventlet.hubs.trampoline(sys.stdin.fileno(), read=True)
    os._exit(0)


if __name__ == "__main__":
    main()
