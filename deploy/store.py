#!/usr/bin/env python3

"""An S3-compatible store over one folder: OpenStack Swift with one disk, as one container or one command.

    store.py FOLDER [--port 7070] [--listen 127.0.0.1]

ROOT_ACCESS_KEY and ROOT_SECRET_KEY are the login of its one user. Swift checks signatures, and has written an object to
the disk when it answers. It is five processes: one each for accounts, containers and objects, one that repeats what was
begun and removes what was deleted, and the proxy, which speaks S3. Everything is imported once, before the processes
fork. The ports of the inner three are drawn anew at each start, and bound before the rings that name them are written;
what is kept does not depend on them.

Swift by itself promises less than S3. Here an object is in the listings when it is answered, and of several creates of
one name exactly one succeeds: claims and resumed runs rely on both.
"""

import argparse
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

import eventlet
import eventlet.wsgi
from eventlet.semaphore import Semaphore
from swift.account.server import AccountController
from swift.common import utils
from swift.common.exceptions import DiskFileNotExist
from swift.common.middleware import tempauth
from swift.common.request_helpers import OBJECT_SYSMETA_CONTAINER_UPDATE_OVERRIDE_PREFIX
from swift.common.ring import RingBuilder
from swift.common.swob import Request, Response
from swift.common.wsgi import SwiftHttpProtocol, get_hub, loadapp
from swift.container.backend import ContainerBroker
from swift.container.replicator import ContainerReplicator
from swift.container.server import ContainerController
from swift.obj.diskfile import DiskFileManager, read_metadata
from swift.obj.replicator import ObjectReplicator
from swift.obj.server import ObjectController
from swift.obj.updater import ObjectUpdater

STORAGE = ("account", "container", "object")
ACCOUNT = "AUTH_store"

# Between two rounds over the disk. Chosen: an entry of a listing that could not be written waits no longer than this.
UPKEEP_SECONDS = 60

# Chosen: what was written so long before the last end is in its listing, or waits in a file to be written there.
RECENT_SECONDS = 600

# Chosen: a disk that is this slow has failed, and a request is answered with an error. Below the proxy's own patience.
LISTING_SECONDS = 30

# The hash of a name is its place on the disk: never change this, or nothing that is kept is found.
SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = proofsweep
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
paste.app_factory = store:{name}_server
"""

# The proxy adds the rest to its pipeline.
PROXY_CONF = """
[DEFAULT]
swift_dir = {conf}
log_level = WARNING

[pipeline:main]
pipeline = healthcheck cached bulk s3api logins slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 10
node_timeout = 60

[filter:healthcheck]
use = egg:swift#healthcheck

[filter:s3api]
use = egg:swift#s3api
location = {region}
max_bucket_listing = {page_keys}

[filter:logins]
paste.filter_factory = store:add_logins

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo

[filter:cached]
paste.filter_factory = store:add_cache
"""

Environ = dict[str, object]
App = Callable[[Environ, Callable[..., object]], Iterable[bytes]]

LOGINS: dict[str, str] = {}
"""The secret key of each access key; it is in no file of the configuration."""
STRANGERS: set[str] = set()
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
    """Make the server of accounts, for its configuration."""
    return AccountController({**settings, **more})


def container_server(settings: Mapping[str, str], **more: str) -> Containers:
    """Make the server of containers, for its configuration."""
    return Containers({**settings, **more})


def object_server(settings: Mapping[str, str], **more: str) -> Objects:
    """Make the server of objects, for its configuration."""
    return Objects({**settings, **more})


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


def serve(folder: Path, entrance: socket.socket, *, region: str = "us-east-1", page_keys: int = 1000) -> None:
    """Serve the users of LOGINS from a folder, until the process ends; its children end with it."""
    sys.modules.setdefault("store", sys.modules[__name__])  # Swift finds the filters by this name
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
    if os.fork() == 0:
        _keep_up(conf, devices, ports)
    _speak_http(conf / "proxy.conf", entrance)


def end() -> None:
    """End this process and its children at once: what was answered is on the disk."""
    os.killpg(0, signal.SIGKILL)


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


def _overrides(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return what a listing says of an object of several parts in the place of the object's own facts."""
    prefix = OBJECT_SYSMETA_CONTAINER_UPDATE_OVERRIDE_PREFIX
    cells = {key.lower(): value for key, value in metadata.items()}
    return {f"x-{key.removeprefix(prefix)}": value for key, value in cells.items() if key.startswith(prefix)}


def _relist(devices: Path, policy: int = 0) -> None:
    """Let the updater write again what was written last: a kill may have come between an object and its listing."""
    found = (Path(folder, name) for folder, _, names in os.walk(devices / "disk" / "objects") for name in names)
    written = {path: utils.Timestamp(path.stem) for path in found if path.suffix in {".data", ".ts"}}
    since = max(map(float, written.values()), default=0.0) - RECENT_SECONDS
    disk = DiskFileManager({"devices": str(devices), "mount_check": "false"}, utils.get_logger({}))
    for path, at in written.items():
        if at < since:
            continue
        try:
            metadata = read_metadata(str(path))
        except DiskFileNotExist:  # it was replaced meanwhile, and what took its place is listed
            continue
        account, container, name = utils.split_path(metadata["name"], 3, 3, rest_with_last=True)
        headers = {"x-timestamp": at.internal, "X-Backend-Storage-Policy-Index": str(policy)}
        if path.suffix == ".data":
            headers |= {"x-size": metadata["Content-Length"], "x-content-type": metadata["Content-Type"]}
            headers |= {"x-etag": metadata["ETag"]} | _overrides(metadata)
        update = {"op": "PUT" if path.suffix == ".data" else "DELETE", "headers": headers, "db_state": None}
        update |= {"account": account, "container": container, "obj": name}
        disk.pickle_async_update("disk", account, container, name, update, at, policy)


def _keep_up(conf: Path, devices: Path, ports: Mapping[str, int]) -> None:
    """Repeat what a listing lacks, and remove what was deleted a week ago; for ever."""
    eventlet.hubs.use_hub(get_hub())
    utils.monkey_patch()
    common = {"swift_dir": str(conf), "devices": str(devices), "mount_check": "false", "log_level": "ERROR"}
    common |= {"recon_cache_path": str(conf), "bind_ip": "127.0.0.1", "interval": str(UPKEEP_SECONDS)}
    rounds = (
        ObjectUpdater(common | {"bind_port": str(ports["object"])}),
        ObjectReplicator(common | {"bind_port": str(ports["object"])}),
        ContainerReplicator(common | {"bind_port": str(ports["container"])}),
    )
    _relist(devices)
    while True:
        for one in rounds:
            one.run_once()
        time.sleep(UPKEEP_SECONDS)


def main() -> None:
    """Serve one user until SIGTERM."""
    asked = argparse.ArgumentParser(description="Serve a folder as an S3-compatible store.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--port", type=int, default=7070)
    asked.add_argument("--listen", default="127.0.0.1")
    given = asked.parse_args()
    try:
        LOGINS[os.environ["ROOT_ACCESS_KEY"]] = os.environ["ROOT_SECRET_KEY"]
    except KeyError as error:
        sys.exit(f"store: {error.args[0]} is not set: it is half of the login of the store")
    signal.signal(signal.SIGTERM, lambda *_: end())
    serve(given.folder, socket.create_server((given.listen, given.port), backlog=4096))


if __name__ == "__main__":
    main()
