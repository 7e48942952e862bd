"""Whatever the fields of a slot, the form that is made of them reads back the same, by a reader not of our making."""

import io
from urllib.parse import quote

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from python_multipart import parse_form
from python_multipart.multipart import Field, File

from proofsweep.client.slots import slot_request
from proofsweep.contract.models import UploadResponse

from .conftest import Bytes

AUDIO = Bytes(b"RIFF....WAVE\r\n--", b"more\r\n")
NASTY = st.lists(st.sampled_from(['"', "\r", "\n", "\0", ";", "=", "name", "file", "--", " ", "Ж", "%22"])).map("".join)
ANY_TEXT = NASTY | st.text(st.characters(exclude_categories=["Cs"]))
FIELDS = st.dictionaries(ANY_TEXT.filter(lambda name: "\\" not in name), ANY_TEXT, max_size=6)
"""A backslash in a name is no escape in HTML's forms, but one to the reader here."""


def read_back(content: bytes, content_type: str) -> list[tuple[bytes | None, bytes]]:
    """Read a form with the parser that web frameworks use: names and contents, in order."""
    parts: list[tuple[bytes | None, bytes]] = []

    def keep_file(file: File) -> None:
        file.file_object.seek(0)
        parts.append((file.field_name, file.file_object.read()))

    def keep_field(field: Field) -> None:
        parts.append((field.field_name, field.value or b""))

    parse_form({"Content-Type": content_type.encode()}, io.BytesIO(content), keep_field, keep_file)
    return parts


@settings(deadline=None)
@given(FIELDS)
@example({'x"; filename="y': "", "file": "before the file", "a\r\nb": "Ж\r\n--\0"})
def test_every_field_reads_back_and_the_file_comes_last(fields: dict[str, str]) -> None:
    """No name and no value breaks out of its part; the length that was announced is the form's."""
    slot = UploadResponse(uploadId="u", url=SecretStr("http://h/"), fields=fields)

    request = slot_request(slot, AUDIO)
    content = b"".join([request.content] if isinstance(request.content, bytes) else request.content)

    expected = [(_as_html_has_it(name).encode(), text.encode()) for name, text in fields.items()]
    assert read_back(content, request.headers["Content-Type"]) == [*expected, (b"file", b"".join(AUDIO.chunks()))]
    assert len(content) == request.content_bytes


def _as_html_has_it(name: str) -> str:
    return "".join(quote(sign) if sign in '"\r\n' else sign for sign in name)
