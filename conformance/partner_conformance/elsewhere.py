"""Calls to other hosts than the API: slots and links. No key is ever sent there."""

import httpx

from partner_conformance.network import Network, why
from partner_conformance.replies import NoAnswer
from partner_conformance.slots import Form

# Chosen: a download ends here. A one-file artifact fits a slot (65 MiB), so a longer one is not wanted.
_MOST_BYTES = 66 * 1024 * 1024


class Elsewhere:
    """An HTTP client for slots and links, which has never seen a key."""

    def __init__(self, network: Network) -> None:
        self._client = network.client()

    def post_form(self, url: str, form: Form) -> int:
        """Post a form to a slot; return the status.

        Raises:
            NoAnswer: the storage cannot be reached.
        """
        parts = [
            (name, ("audio", part, "audio/wav")) if isinstance(part, bytes) else (name, (None, part.encode()))
            for name, part in form
        ]
        try:
            return self._client.post(url, files=parts).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoAnswer(f"the slot cannot be reached ({why(error)})") from None

    def download(self, url: str) -> tuple[int, bytes]:
        """Get a link, and follow its redirects; return the status and the bytes.

        Raises:
            NoAnswer: the link cannot be reached.
        """
        content = bytearray()
        try:
            with self._client.stream("GET", url, follow_redirects=True) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > _MOST_BYTES:
                        break
                return response.status_code, bytes(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoAnswer(f"the link cannot be reached ({why(error)})") from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
