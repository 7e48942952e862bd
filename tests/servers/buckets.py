"""Buckets at real servers: the URL, and the environment variables that lead to it."""

import base64
import hashlib
import hmac
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, Protocol
from uuid import uuid4

import boto3
import httpx
import obstore

from .launching import launched, need

HERE = Path(__file__).parent

PAGE_KEYS = 100
"""So many keys are in a page of a listing by Swift or moto. S3 gives a thousand: too many to write in a test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """An empty bucket."""

    url: str  # as a command takes it
    environment: Mapping[str, str]  # the variables that lead to it, credentials included
    store: obstore.store.ObjectStore  # the tests' own client

    def put(self, key: str, content: bytes) -> None:
        obstore.put(self.store, key, content)

    def keys(self, prefix: str = "") -> list[str]:
        return sorted(found["path"] for found in obstore.list(self.store, prefix).collect())

    def content(self, key: str) -> bytes:
        return bytes(obstore.get(self.store, key).bytes())


class BucketServer(Protocol):
    url: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no output may contain."""
        ...

    def new_bucket(self) -> Bucket: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    url: str
    access_key: str
    secret_key: str
    region: str

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.secret_key,)

    @property
    def client(self) -> Any:  # noqa: ANN401 -- boto makes its types at run time
        """Return boto's client, with which tests prepare objects."""
        return _boto(self.url, self.region, self.access_key, self.secret_key)

    def environment(self, url: str | None = None) -> dict[str, str]:
        """Return the variables that lead to this server, or to a proxy at `url`."""
        return {
            "AWS_ENDPOINT_URL": url or self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
        }

    def new_bucket(self) -> Bucket:
        name = f"bucket-{uuid4().hex[:12]}"
        where = {} if self.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": self.region}}
        self.client.create_bucket(Bucket=name, **where)
        store = obstore.store.S3Store(
            name,
            endpoint=self.url,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            client_options={"allow_http": True},
        )
        return Bucket(url=f"s3://{name}", environment=self.environment(), store=store)


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureServer:
    """A server that speaks Azure's Blob Storage; `url` ends in the account."""

    url: str
    account: str
    key: str

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.key,)

    def new_bucket(self) -> Bucket:
        name = f"container-{uuid4().hex[:12]}"
        self._create(name)
        store = obstore.store.AzureStore(
            name,
            account_name=self.account,
            account_key=self.key,
            endpoint=self.url,
            client_options={"allow_http": True},
        )
        environment = {
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_STORAGE_ENDPOINT": self.url,
            "AZURE_ALLOW_HTTP": "true",
        }
        return Bucket(url=f"az://{name}", environment=environment, store=store)

    def _create(self, name: str) -> None:
        """Make a container with a request that is signed here: no library of ours can."""
        headers = {
            "x-ms-date": datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "x-ms-version": "2021-08-06",
        }
        signed = "\n".join(f"{name}:{value}" for name, value in headers.items())
        text = f"PUT{12 * chr(10)}{signed}\n/{self.account}/{self.account}/{name}\nrestype:container"
        mac = hmac.digest(base64.b64decode(self.key), text.encode(), hashlib.sha256)
        headers["Authorization"] = f"SharedKey {self.account}:{base64.b64encode(mac).decode()}"
        answer = httpx.put(f"{self.url}/{name}?restype=container", headers=headers, trust_env=False)
        assert answer.status_code == 201, answer.text


@cache
def _boto(url: str, region: str, access_key: str, secret_key: str) -> Any:  # noqa: ANN401 -- as above
    """Make boto's client once for each server: it reads megabytes of descriptions."""
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
    )


@contextmanager
def swift(folder: Path) -> Iterator[S3Server]:
    """OpenStack Swift: it checks signatures and regions."""
    need(find_spec("swift"), "OpenStack Swift, which the developers' packages bring on Linux")
    need(_keeps_attributes(folder), "a file system with extended attributes under the tests' temporary folder")
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "SWIFT_PAGE_KEYS": str(PAGE_KEYS)}
    cluster = folder / "cluster"
    cluster.mkdir(exist_ok=True)
    with launched([sys.executable, HERE / "swift_cluster.py", cluster], folder / "swift.log", environment) as url:
        yield S3Server(
            url=url,
            access_key="tests:owner",
            secret_key="secret+of/the-owner",
            region="north-1",
        )


@contextmanager
def moto(folder: Path) -> Iterator[S3Server]:
    """Moto: conditional writes hold, objects may be archived; it does not check signatures."""
    environment = os.environ | {"MOTO_S3_DEFAULT_MAX_KEYS": str(PAGE_KEYS)}
    with launched([sys.executable, HERE / "moto_server.py"], folder / "moto.log", environment) as url:
        yield S3Server(
            url=url,
            access_key="an-access-key",
            secret_key="secret+of/moto",
            region="us-east-1",
        )


@contextmanager
def azurite(folder: Path) -> Iterator[AzureServer]:
    """Azurite: Azure's Blob Storage, which checks signatures; conditional writes hold."""
    node = which("node")
    is_there = node and (HERE / "azurite/node_modules/azurite").is_dir()
    need(is_there, "azurite: npm ci --ignore-scripts --prefix tests/servers/azurite")
    key = base64.b64encode(b"secret of azurite, for as long as a test run").decode()
    environment = os.environ | {"AZURITE_ACCOUNTS": f"tests:{key}"}
    options = ["--inMemoryPersistence", "--blobPort", "0", "--silent", "--skipApiVersionCheck"]
    with launched([str(node), HERE / "azurite/serve.js", *options], folder / "azurite.log", environment) as url:
        yield AzureServer(url=f"{url}/tests", account="tests", key=key)


def _keeps_attributes(folder: Path) -> bool:
    probe = folder / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "user.swift.metadata", b"kept")
    except (OSError, AttributeError):
        return False
    return True
