"""Copy all objects of a bucket into another store: the stand-in of `bucket_copy` where rclone is not installed.

`bucket_copy` starts this as a child. To run it by hand: `python -m benchmarks.plain_copy FROM TO WORKERS`, with the
bucket's settings in the environment; TO is the endpoint of a store that takes any PUT.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import obstore
from obstore.store import S3Store

from proofsweep.config.buckets import open_bucket


def main() -> None:
    """Copy FROM into TO, WORKERS objects at once."""
    source, workers = open_bucket(sys.argv[1]), int(sys.argv[3])
    target = S3Store("copies", endpoint=sys.argv[2], client_options={"allow_http": True})

    def copy(key: str) -> None:
        obstore.put(target, key, obstore.get(source, key).bytes(), use_multipart=False)

    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(copy, [meta["path"] for page in obstore.list(source) for meta in page]))


if __name__ == "__main__":
    main()
