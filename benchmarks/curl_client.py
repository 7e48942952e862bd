"""Make the same three calls for one file with libcurl, and the sha256 of the bytes sent: the lower bound.

`cpu_per_file` starts this as a child. To run it by hand: `python -m benchmarks.curl_client BASE_URL AUDIO FILES
AT_ONCE`. It keeps no rows, never retries and trusts every answer.
"""

import hashlib
import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pycurl

# libcurl's upload buffer.
_PIECE_BYTES = 256 * 1024
_OK = range(200, 300)


def main() -> None:
    base_url, audio, files, at_once = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    shares = [files // at_once + (worker < files % at_once) for worker in range(at_once)]
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda share: _Worker(base_url).verify(audio, share), shares))


class _Worker:
    """Hold the connections of one thread."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._keyed, self._keyless = pycurl.Curl(), pycurl.Curl()

    def verify(self, audio: Path, times: int) -> None:
        for _ in range(times):
            slot = json.loads(_post(self._keyed, f"{self._base_url}/uploads?purpose=verify", b""))
            _fill(self._keyless, slot, audio)
            body = json.dumps({"uploadId": slot["uploadId"]}).encode()
            if json.loads(_post(self._keyed, f"{self._base_url}/verify", body))["verdict"] != "valid":
                raise SystemExit("the null service accepts everything")


def _post(curl: pycurl.Curl, url: str, body: bytes) -> bytes:
    curl.setopt(pycurl.HTTPHEADER, ["x-api-key: none", "Content-Type: application/json", "Accept: application/json"])
    curl.setopt(pycurl.POSTFIELDS, body)
    return _perform(curl, url)


def _fill(curl: pycurl.Curl, slot: dict[str, object], audio: Path) -> None:
    boundary = "0" * 32
    fields = slot["fields"] if isinstance(slot["fields"], dict) else {}
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
    file = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="audio"\r\n\r\n'
    head, tail = ("".join(parts) + file).encode(), f"\r\n--{boundary}--\r\n".encode()
    with audio.open("rb") as content:
        form = _Form(head, content, tail)
        curl.setopt(pycurl.POST, 1)
        curl.setopt(pycurl.POSTFIELDSIZE_LARGE, len(head) + os.fstat(content.fileno()).st_size + len(tail))
        curl.setopt(pycurl.UPLOAD_BUFFERSIZE, _PIECE_BYTES)
        curl.setopt(pycurl.READFUNCTION, form.read)
        curl.setopt(pycurl.HTTPHEADER, [f"Content-Type: multipart/form-data; boundary={boundary}", "Expect:"])
        _perform(curl, str(slot["url"]))
        form.digest.hexdigest()


class _Form:
    """Give head, file and tail to libcurl in pieces, and hash the file."""

    def __init__(self, head: bytes, content: io.BufferedReader, tail: bytes) -> None:
        self.digest = hashlib.sha256()
        self._waiting, self._content, self._tail = head, content, tail

    def read(self, most_bytes: int) -> bytes:
        piece = self._content.raw.read(most_bytes - len(self._waiting)) if len(self._waiting) < most_bytes else b""
        self.digest.update(piece)
        given = self._waiting + piece
        self._waiting = b""
        if not piece:
            given, self._tail = given + self._tail, b""
        return given


def _perform(curl: pycurl.Curl, url: str) -> bytes:
    answer = io.BytesIO()
    curl.setopt(pycurl.URL, url)
    curl.setopt(pycurl.WRITEDATA, answer)
    if trust := os.environ.get("SSL_CERT_FILE"):
        curl.setopt(pycurl.CAINFO, trust)
    curl.perform()
    if curl.getinfo(pycurl.RESPONSE_CODE) not in _OK:
        raise SystemExit(f"status {curl.getinfo(pycurl.RESPONSE_CODE)} from the null service")
    return answer.getvalue()


if __name__ == "__main__":
    main()
