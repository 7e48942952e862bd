"""Buckets at real servers: the URL, and the environment variables that lead to it."""

import base64
import hashlib
import hmac
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any
from uuid import uuid4

import boto3
import httpx
import obstore

from .launching import launched, need

HERE = Path(__file__).parent

REGION = "us-east-1"
PAGE_KEYS = 40
"""So many keys are in a page of a listing by moto. S3 gives a thousand: too many to write in a test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    url: str  # as a command takes it
    environment: Mapping[str, str]  # the variables that lead to it, credentials included
    store: obstore.store.ObjectStore  # the tests' own client

    def put(self, key: str, content: bytes) -> None:
        obstore.put(self.store, key, content)

    def keys(self, prefix: str = "") -> list[str]:
        return sorted(found["path"] for found in obstore.list(self.store, prefix).collect())

    def content(self, key: str) -> bytes:
        return bytes(obstore.get(self.store, key).bytes())


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    url: str
    access_key: str
    secret_key: str

    @property
    def client(self) -> Any:  # noqa: ANN401 -- boto makes its types at run time
        """Return boto's client, with which tests prepare objects."""
        return _boto("s3", self.url, self.access_key, self.secret_key)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead to this server."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": REGION,
        }

    def new_bucket(self) -> Bucket:
        name = f"bucket-{uuid4().hex[:12]}"
        self.client.create_bucket(Bucket=name)
        store = obstore.store.S3Store(
            name,
            endpoint=self.url,
            region=REGION,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            client_options={"allow_http": True},
        )
        return Bucket(url=f"s3://{name}", environment=self.environment, store=store)


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureServer:
    """A server that speaks Azure's Blob Storage; `url` ends in the account."""

    url: str
    account: str
    key: str

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


BucketServer = S3Server | AzureServer


@cache
def _boto(service: str, url: str, access_key: str, secret_key: str) -> Any:  # noqa: ANN401 -- as above
    """Make boto's client once for each server: it reads megabytes of descriptions."""
    return boto3.client(
        service,
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
    )


@contextmanager
def moto(folder: Path) -> Iterator[S3Server]:
    """Moto: conditional writes hold, objects may be archived; it does not check signatures."""
    environment = os.environ | {"MOTO_S3_DEFAULT_MAX_KEYS": str(PAGE_KEYS)}
    with launched([sys.executable, HERE / "moto_server.py"], folder / "moto.log", environment) as url:
        yield S3Server(url=url, access_key="an-access-key", secret_key="secret+of/moto")


@contextmanager
def guarded_moto(folder: Path) -> Iterator[tuple[S3Server, S3Server]]:
    """Moto that checks signatures, permissions and regions, as its owner and as a user who may do nothing see it."""
    with moto(folder) as open_server:
        owner, stranger = (_as_user(open_server, name) for name in ("owner", "stranger"))
        httpx.post(f"{open_server.url}/moto-api/reset-auth", content=b"0", trust_env=False).raise_for_status()
        yield owner, stranger


def _as_user(server: S3Server, name: str) -> S3Server:
    """Add a user, while the server checks nothing yet; only the owner may do anything."""
    iam = _boto("iam", server.url, server.access_key, server.secret_key)
    iam.create_user(UserName=name)
    if name == "owner":
        statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=policy)
    made = iam.create_access_key(UserName=name)["AccessKey"]
    return S3Server(url=server.url, access_key=made["AccessKeyId"], secret_key=made["SecretAccessKey"])


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
