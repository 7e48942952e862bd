"""Measure how many small requests a sandbox answers per second on one core, and the CPU of an upload.

Run from the checkout: `python -m benchmarks.sandbox_rate [--seconds 3] [--threads 8] [--megabytes 32]`. The sandbox is
one process and uses at most one core. The client threads share another core and often limit the rate. So the CPU time
of a round is more useful than the rounds per second.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

import proofsweep_sandbox as sandbox
from benchmarks.null_service import cpu_seconds_of

Round = Callable[[httpx.Client], None]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=32)
    chosen = parser.parse_args()
    options = sandbox.Options(home=Path(), rate=1e6, burst=1e6, quota=10**9)
    with tempfile.TemporaryDirectory() as home, sandbox.launch(Path(home), options=options) as running:
        for name, make in (("health", health), ("usage", usage), ("uploads + slot + verify", whole_flow)):
            measure(name, running, make, chosen.seconds, chosen.threads)
        upload(running, chosen.megabytes)


def health(client: httpx.Client) -> None:
    """Make the only call that needs no key."""
    client.get("/health").raise_for_status()


def usage(client: httpx.Client) -> None:
    """Make a keyed call that reads the usage."""
    client.get("/partner/usage?days=1").raise_for_status()


def whole_flow(client: httpx.Client) -> None:
    """Verify 4 KiB: all three steps."""
    fill_and_verify(client, bytes(4096))


def fill_and_verify(client: httpx.Client, audio: bytes) -> None:
    """Verify audio: all three steps. Only the API receives the key."""
    slot = client.post("/uploads?purpose=verify").raise_for_status().json()
    # Not made by the client, whose headers would add the key.
    form = httpx.Request("POST", slot["url"], data=slot["fields"], files={"file": ("audio", audio)})
    client.send(form).raise_for_status()
    client.post("/verify", json={"uploadId": slot["uploadId"]}).raise_for_status()


def measure(name: str, running: sandbox.Running, make: Round, seconds: float, threads: int) -> None:
    """Repeat a round for some seconds; print the rate and the sandbox's CPU time per round."""
    cpu, began = cpu_seconds_of(running.pid), time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        counts = list(pool.map(lambda _: rounds(running, make, began + seconds), range(threads)))
    wall, cpu = time.perf_counter() - began, cpu_seconds_of(running.pid) - cpu
    total = sum(counts)
    print(f"{name:<24} {total / wall:8.0f} rounds/s   CPU {cpu / wall:4.0%}   {1000 * cpu / total:6.2f} ms each")


def rounds(running: sandbox.Running, make: Round, until: float) -> int:
    """Repeat a round until a time of the performance counter, at least once; return the number of rounds."""
    with httpx.Client(base_url=running.base_url, headers={"x-api-key": running.api_key}) as client:
        make(client)
        count = 1
        while time.perf_counter() < until:
            make(client)
            count += 1
    return count


def upload(running: sandbox.Running, megabytes: int) -> None:
    """Verify one large file; print the sandbox's CPU time and peak memory."""
    cpu, began = cpu_seconds_of(running.pid), time.perf_counter()
    with httpx.Client(base_url=running.base_url, headers={"x-api-key": running.api_key}, timeout=60) as client:
        fill_and_verify(client, bytes(megabytes * 1024 * 1024))
    wall, cpu = time.perf_counter() - began, cpu_seconds_of(running.pid) - cpu
    peak = peak_mebibytes(running.pid)
    print(f"one file of {megabytes} MiB         {wall:6.2f} s          CPU {cpu:.2f} s   peak {peak} MiB")


def peak_mebibytes(pid: int) -> int:
    """Return the peak resident memory of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
