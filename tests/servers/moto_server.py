"""moto, as a program: an S3 in memory with conditional writes and storage classes; it does not check signatures.

It prints its URL as one line, and serves until its standard input ends.
"""

import logging
import sys

from moto.moto_server.threaded_moto_server import ThreadedMotoServer

if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(f"http://127.0.0.1:{server.get_host_and_port()[1]}", flush=True)  # noqa: T201
    sys.stdin.read()
    server.stop()
