"""Compare verifying a catalog in a bucket with a copy of the same objects by rclone.

Run from the checkout: `python -m benchmarks.bucket_copy [--objects 200] [--mebibytes 8] [--workers 16] [--rounds 3]`.
The objects are in OpenStack Swift's S3 on this machine. Both programs read them there, with the same number of workers,
and send them to the same null service: proofsweep into slots, rclone as an S3 store. Without rclone, a plain copy in
Python (`benchmarks/plain_copy.py`) stands in; the output names the program. CPU is of the client's process alone, from
its first form to its end, and rclone's from its start. Server and clients share the machine, so only the ratios have a
meaning.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.children import Used, measure, run, run_program
from benchmarks.null_service import Running, launched
from proofsweep_sandbox.samples.sounds import wav_header
from tests.servers.buckets import Bucket, swift

MEBIBYTE = 1024 * 1024


def main() -> None:
    """Measure copy and verification in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=200)
    parser.add_argument("--mebibytes", type=int, default=8)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        swift(Path(folder)) as server,
        launched(Path(folder)) as service,
    ):
        source = server.new_bucket()
        for number in range(chosen.objects):
            size = chosen.mebibytes * MEBIBYTE
            source.put(f"{number:05}.wav", wav_header(size) + os.urandom(size))
        rounds = [_round(source, service, chosen.workers) for _ in range(chosen.rounds)]
    cpu, wall = (statistics.median(ratios) for ratios in zip(*rounds, strict=True))
    print(
        f"{chosen.objects} objects of {chosen.mebibytes} MiB: {cpu:.2f} times a copy's CPU, {wall:.2f} times its time"
    )


def _round(source: Bucket, service: Running, workers: int) -> tuple[float, float]:
    """Copy and verify all objects; give the ratios of CPU and of wall time."""
    copier, copied = _copied(source, service, workers)
    used = _verified(source, service, workers)
    cpu, seconds = used.cpu_seconds - used.cpu_before_seconds, used.seconds - used.first_byte_seconds
    print(
        f"{copier}: {copied.cpu_seconds:.2f} s of CPU, {copied.seconds:.2f} s, {copied.peak_mebibytes:.0f} MB; "
        f"proofsweep: {cpu:.2f} s of CPU, {seconds:.2f} s, {used.peak_mebibytes:.0f} MB",
        flush=True,
    )
    return cpu / copied.cpu_seconds, seconds / copied.seconds


def _copied(source: Bucket, service: Running, workers: int) -> tuple[str, Used]:
    """Copy all objects to the null service; name the program."""
    target, program = service.base_url.removesuffix("/v1"), shutil.which("rclone")
    if program is None:
        command = ["benchmarks.plain_copy", source.url, target, str(workers)]
        return "plain copy", run(command, source.environment)
    options = ["--transfers", str(workers), "--no-check-dest", "--s3-no-check-bucket", "--s3-no-head", "--retries", "1"]
    command = [program, "copy", f"in:{source.url.removeprefix('s3://')}", "out:copies", *options]
    return "rclone", run_program([*command, "--s3-upload-cutoff", "1G"], _rclone_remotes(source.environment, target))


def _rclone_remotes(bucket: dict[str, str], target: str) -> dict[str, str]:
    access = {"TYPE": "s3", "ACCESS_KEY_ID": bucket["AWS_ACCESS_KEY_ID"], "REGION": bucket["AWS_REGION"]}
    access |= {"SECRET_ACCESS_KEY": bucket["AWS_SECRET_ACCESS_KEY"], "PROVIDER": "Other"}
    remotes = {"IN": bucket["AWS_ENDPOINT_URL"], "OUT": target}
    without_bundle = {"AWS_CA_BUNDLE": ""}  # rclone 1.60 cannot load one, and the stores here are plain HTTP
    return without_bundle | {
        f"RCLONE_CONFIG_{remote}_{name}": value
        for remote, endpoint in remotes.items()
        for name, value in (access | {"ENDPOINT": endpoint}).items()
    }


def _verified(source: Bucket, service: Running, workers: int) -> Used:
    with tempfile.TemporaryDirectory() as results:
        os.environ |= {**source.environment, "PROOFSWEEP_RESULTS__URL": results}
        return measure(["benchmarks.bucket_client", source.url], service, at_once=workers)


if __name__ == "__main__":
    main()
