"""OpenStack Swift with its S3 API, as a program: two users, short pages of listings, and nothing kept for a power cut.

    python swift_cluster.py FOLDER

It prints its URL as one line, and serves until its standard input ends, so that it ends with the process that started
it. Swift checks signatures and regions. It is four processes: one each for accounts, containers and objects, and the
proxy, which speaks S3.

Swift by itself promises less than S3. Here an object is in the listings when it is answered, and of several creates of
one name exactly one succeeds: claims and resumed runs rely on both.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

import eventlet
import eventlet.wsgi
from eventlet.semaphore import Semaphore
from swift.account.server import AccountController
from swift.common import utils
from swift.common.middleware import tempauth
from swift.common.ring import RingBuilder
from swift.common.swob import Request, Response
from swift.common.wsgi import SwiftHttpProtocol, get_hub, loadapp
from swift.container.backend import ContainerBroker
from swift.container.server import ContainerController
from swift.obj.server import ObjectController

STORAGE = ("account", "container", "object")
ACCOUNT = "AUTH_tests"

# A request waits so long for a slow disk. Below the proxy's own patience.
LISTING_SECONDS = 30

SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = tests
"""

STORAGE_CONF = """
[DEFAULT]
swift_dir = {conf}
devices = {devices}
mount_check = false
fallocate_reserve = 0
bind_ip = 127.0.0.1
bind_port = {port}
conn_timeout = {patience}
node_timeout = {patience}
container_update_timeout = {patience}
log_level = WARNING

[pipeline:main]
pipeline = {name}-server

[app:{name}-server]
paste.app_factory = swift_cluster:{name}_server
"""

# The proxy adds the rest to its pipeline.
PROXY_CONF = """
[DEFAULT]
swift_dir = {conf}
log_level = WARNING

[pipeline:main]
pipeline = cached bulk s3api logins slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 10
node_timeout = 60

[filter:s3api]
use = egg:swift#s3api
location = {region}
max_bucket_listing = {page_keys}

[filter:logins]
paste.filter_factory = swift_cluster:add_logins

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo

[filter:cached]
paste.filter_factory = swift_cluster:add_cache
"""

Environ = dict[str, object]
App = Callable[[Environ, Callable[..., object]], Iterable[bytes]]

LOGINS = {"tests:owner": "secret+of/the-owner", "tests:stranger": "secret+of/the-stranger"}
"""The secret key of each access key."""
STRANGERS = {"tests:stranger"}
"""Those of them who own nothing, and read what is public."""


class Containers(ContainerController):
    """Containers whose listings are never out of date: Swift would give an old one while another request writes."""

    def _get_container_broker(self, *where: str, **how: object) -> ContainerBroker:
        in_time = {"pending_timeout": LISTING_SECONDS, "stale_reads_ok": False}
        return super()._get_container_broker(*where, **how | in_time)


class Objects(ObjectController):
    """Objects of which each is created once: Swift would let several creates of a name see that it is free."""

    def __init__(self, conf: Mapping[str, object]) -> None:
        super().__init__(conf)
        self._turns: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()

    @utils.public
    def PUT(self, request: Request) -> Response:  # noqa: N802 - Swift finds a method by the request's
        """Write an object, one at a time of each name."""
        with self._turns.setdefault(request.path, Semaphore()):
            return super().PUT(request)


def account_server(settings: Mapping[str, str], **more: str) -> AccountController:
    return AccountController({**settings, **more})


def container_server(settings: Mapping[str, str], **more: str) -> Containers:
    return Containers({**settings, **more})


def object_server(settings: Mapping[str, str], **more: str) -> Objects:
    return Objects({**settings, **more})


class AccountCache:
    """The proxy's cache of accounts and containers, in the place of memcached."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}

    def get(self, key: str, **_: object) -> object:
        return self._values.get(key)

    def set(self, key: str, value: object, **_: object) -> None:
        """Keep a value; the proxy deletes what it changes."""
        self._values[key] = value

    def delete(self, key: str, **_: object) -> None:
        self._values.pop(key, None)


def add_cache(_: Mapping[str, str], **__: str) -> Callable[[App], App]:
    """Make the filter that gives the cache to the rest of the pipeline."""
    cache = AccountCache()

    def filter_of(app: App) -> App:
        return lambda environ, start: app(environ | {"swift.cache": cache}, start)

    return filter_of


def add_logins(settings: Mapping[str, str], **_: str) -> Callable[[App], App]:
    """Make the filter that knows the users: each access key is a user, and an account is what precedes a colon."""
    make = tempauth.filter_factory(settings)

    def filter_of(app: App) -> App:
        logins = make(app)
        for access_key, secret_key in LOGINS.items():
            account = f"AUTH_{access_key.split(':')[0]}" if ":" in access_key else ACCOUNT
            groups = [] if access_key in STRANGERS else [".admin"]
            logins.users[access_key] = {"key": secret_key, "url": f"$HOST/v1/{account}", "groups": groups}
        found: App = logins
        return found

    return filter_of


def serve(folder: Path, entrance: socket.socket, *, region: str, page_keys: int) -> None:
    """Serve the users of LOGINS from a folder, until the process ends; its children end with it."""
    sys.modules.setdefault("swift_cluster", sys.modules[__name__])  # Swift finds the filters by this name
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    conf, devices = folder / "configuration", folder / "devices"
    conf.mkdir(exist_ok=True)
    (devices / "disk").mkdir(parents=True, exist_ok=True)
    sockets = {name: socket.create_server(("127.0.0.1", 0), backlog=4096) for name in STORAGE}
    ports = {name: sock.getsockname()[1] for name, sock in sockets.items()}
    _configure(conf, devices, ports)
    (conf / "proxy.conf").write_text(PROXY_CONF.format(conf=conf, region=region, page_keys=page_keys))
    for name, sock in sockets.items():
        if os.fork() == 0:
            _speak_http(conf / f"{name}.conf", sock)
    _speak_http(conf / "proxy.conf", entrance)


def _configure(conf: Path, devices: Path, ports: Mapping[str, int]) -> None:
    """Write the files that Swift reads: the servers' and the rings, of one disk each."""
    (conf / "swift.conf").write_text(SWIFT_CONF)
    utils.set_swift_dir(str(conf))
    for name, port in ports.items():
        facts = {"conf": conf, "devices": devices, "name": name, "port": port, "patience": LISTING_SECONDS}
        (conf / f"{name}.conf").write_text(STORAGE_CONF.format(**facts))
        builder = RingBuilder(part_power=0, replicas=1, min_part_hours=0)
        disk = {"region": 1, "zone": 1, "weight": 1.0, "ip": "127.0.0.1", "port": port, "device": "disk"}
        builder.add_dev(disk)
        builder.rebalance()
        builder.get_ring().save(str(conf / f"{name}.ring.gz"))


def _speak_http(conf: Path, sock: socket.socket) -> None:
    # A hub from before the fork would wake each process for the events of all.
    eventlet.hubs.use_hub(get_hub())
    utils.monkey_patch()
    # boto's libraries accept only this spelling of ETag.
    how = {"protocol": SwiftHttpProtocol, "capitalize_response_headers": False, "log_output": False}
    eventlet.wsgi.server(eventlet.greenio.GreenSocket(sock), loadapp(str(conf)), **how)


def main() -> None:
    """Serve until the standard input ends."""
    os.fsync = os.fdatasync = lambda _: None  # no test is about a power cut
    entrance = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(f"http://127.0.0.1:{entrance.getsockname()[1]}", flush=True)  # noqa: T201 - connections wait in the backlog
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    serve(Path(sys.argv[1]), entrance, region="north-1", page_keys=int(os.environ["SWIFT_PAGE_KEYS"]))


def _end_with_stdin() -> None:
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
