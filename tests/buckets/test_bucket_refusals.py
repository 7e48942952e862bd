"""An error of a bucket is one line, at once, before anything is planned."""

import re
import time
from collections.abc import Callable

import pytest

from proofsweep_cli.app import run

from ..servers.buckets import Bucket, S3Server
from ..worlds.bucket_world import BucketWorld

AT_ONCE_SECONDS = 40.0
"""Well above the time of each case on a busy machine, and well below a cloud client's own timeouts."""

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
GUESSED = "guessed+secret/of-somebody"
TOKEN = "session+token/of-somebody"
NO_CREDENTIALS = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}


@pytest.fixture
def world(make_world: Callable[[Bucket], BucketWorld], guarded: tuple[S3Server, S3Server]) -> BucketWorld:
    """A world with results in a bucket that also holds a catalog, where signatures are checked."""
    world = make_world(guarded[0].new_bucket())
    world.bucket.put("deliveries/a.wav", WAVE)
    return world


@pytest.mark.parametrize(
    ("where", "variables", "words"),
    [
        ("results", {"AWS_SECRET_ACCESS_KEY": GUESSED}, "credentials were refused"),
        ("catalog", {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SESSION_TOKEN": TOKEN}, "credentials were refused"),
        ("catalog", {"AWS_REGION": "south-9"}, "another region"),
        ("results", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "does not answer"),
        ("catalog", {"AWS_ALLOW_HTTP": "false"}, "plain http"),
        ("catalog", NO_CREDENTIALS, r"No credentials were found.*docs/buckets\.md"),
    ],
    ids=["wrong secret", "unknown key", "wrong region", "dead endpoint", "plain http", "no credentials"],
)
def test_unreachable_bucket_is_reported_in_one_line(
    world: BucketWorld, capfd: pytest.CaptureFixture[str], where: str, variables: dict[str, str | None], words: str
) -> None:
    """Exit code 2, one line on stderr that says what to check, no secret, and nothing written."""
    catalog = f"{world.bucket.url}/deliveries" if where == "catalog" else str(world.folder)
    results = world.results_url if where == "results" else str(world.folder / "results")
    (world.folder / "a.wav").write_bytes(WAVE)
    started = time.monotonic()

    with pytest.MonkeyPatch.context() as environment:
        for name, value in variables.items():
            environment.delenv(name) if value is None else environment.setenv(name, value)
        code = run(["verify", catalog, "--results", results])

    out, err = capfd.readouterr()
    assert (code, out) == (2, "")
    assert re.fullmatch(rf"proofsweep: .*{words}.*\n", err), err
    assert time.monotonic() - started < AT_ONCE_SECONDS
    assert not any(secret in err for secret in (GUESSED, TOKEN, world.bucket.environment["AWS_SECRET_ACCESS_KEY"]))
    assert world.bucket.keys("results") == []
    assert not (world.folder / "results").exists()


@pytest.mark.parametrize("place", ["no-such-bucket/deliveries", "{}/no-such-prefix", "{}/no-such-list.csv"])
def test_missing_catalog_is_named(world: BucketWorld, capfd: pytest.CaptureFixture[str], place: str) -> None:
    """Both if the bucket is missing and if the catalog in it is missing."""
    url = f"s3://{place.format(world.bucket.url.removeprefix('s3://'))}"

    code = world.run("verify", url)

    err = capfd.readouterr().err
    assert code == 2
    assert re.fullmatch(rf"proofsweep: {re.escape(url)}: .*[Tt]here is no such .*\n", err), err


def test_missing_results_bucket_is_named(world: BucketWorld, capfd: pytest.CaptureFixture[str]) -> None:
    """Before any call is made."""
    code = run(["verify", f"{world.bucket.url}/deliveries", "--results", "s3://no-such-bucket/results"])

    err = capfd.readouterr().err
    assert code == 2
    assert re.fullmatch(r"proofsweep: .*s3://no-such-bucket/results.*there is no such bucket.*\n", err), err
    assert world.charged == 0
