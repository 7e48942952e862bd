"""Compare the time to verify a catalog in a bucket with a plain parallel copy of the same objects.

Run from the checkout: `python -m benchmarks.bucket_copy [--objects 64] [--mebibytes 4] [--workers 16] [--rounds 3]`.
The objects are in OpenStack Swift's S3 on this machine. The copy reads each object into memory and puts it into another
bucket there. proofsweep plans, streams each object into a slot of the sandbox and requests its verdict. Both use the
same number of workers. Servers and clients share the machine, so only the ratio has a meaning.
"""

import argparse
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sandbox
from proofsweep.bootstrap.legs import held_leg
from proofsweep.bootstrap.runs import plan_catalog
from proofsweep.settings import load_settings
from proofsweep.usecases.leg.work import verify_slice
from sandbox.samples.sounds import wav_header
from tests.servers.buckets import Bucket, swift

MEBIBYTE = 1024 * 1024


def main() -> None:
    """Measure copy and verification in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=64)
    parser.add_argument("--mebibytes", type=int, default=4)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    options = sandbox.Options(home=Path(), rate=1e6, burst=1e6, quota=10**9)
    with (
        tempfile.TemporaryDirectory() as folder,
        swift(Path(folder)) as server,
        sandbox.launch(Path(folder) / "sandbox", options=options) as running,
    ):
        source = server.new_bucket()
        for number in range(chosen.objects):
            source.put(
                f"{number:05}.wav", wav_header(chosen.mebibytes * MEBIBYTE) + os.urandom(chosen.mebibytes * MEBIBYTE)
            )
        configure(source, running, chosen.workers, Path(folder))
        ratios = []
        for _ in range(chosen.rounds):
            copied = copy(source, server.new_bucket(), chosen.workers)
            verified = verify(source)
            ratios.append(verified / copied)
            print(f"copied in {copied:6.2f} s, verified in {verified:6.2f} s: {ratios[-1]:.2f} times a copy")
    print(f"{chosen.objects} objects of {chosen.mebibytes} MiB: median {statistics.median(ratios):.2f} times a copy")


def configure(source: Bucket, running: sandbox.Running, workers: int, folder: Path) -> None:
    """Set the environment for the bucket and the sandbox."""
    os.environ |= source.environment
    os.environ |= {
        "PROOFSWEEP_SERVICE__BASE_URL": running.base_url,
        "PROOFSWEEP_SERVICE__API_KEY_FILE": str(running.key_file),
        "PROOFSWEEP_RESULTS__URL": str(folder / "results"),
        "PROOFSWEEP_PACE__WORKERS": str(workers),
    }


def copy(source: Bucket, target: Bucket, workers: int) -> float:
    """Copy all objects; return the seconds."""
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda key: target.put(key, source.content(key)), source.keys()))
    return time.perf_counter() - start


def verify(source: Bucket) -> float:
    """Plan and verify all objects; return the seconds."""
    start = time.perf_counter()
    plan = plan_catalog(load_settings(), source.url)
    with held_leg(plan.run_id, None, None, flow_run_id=None, read_block=None) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
