"""Parse a posted form while it streams: the fields, then the file; anything after the file is ignored."""

import logging
from typing import Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

# It warns of each form that is not correct; the sandbox answers with a refusal, and prints nothing.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

# As S3: at most this many bytes in all fields before the file. Ours have some hundred.
_MAX_FIELDS_BYTES = 20_000


class MalformedForm(Exception):
    """The body is not a readable form."""


class FileReceiver(Protocol):
    """Receives the file of a form."""

    def begin(self, fields: dict[str, str]) -> None:
        """Begin the file, with the fields before it."""

    def write(self, data: bytes) -> None:
        """Receive more of the file."""


class SlotForm:
    """Parses a multipart body chunk by chunk; at most one chunk of the file is in memory."""

    def __init__(self, content_type: str, receiver: FileReceiver) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise MalformedForm("the body is not multipart/form-data")
        self.fields: dict[str, str] = {}
        self.is_complete = False
        self.has_file = False
        self._receiver = receiver
        self._fields_bytes = 0
        self._parser = self._parser_for(boundary)
        self._on_part_begin()

    def write(self, chunk: bytes) -> None:
        """Read one more chunk of the body."""
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise MalformedForm("the form does not follow multipart/form-data") from error

    def _parser_for(self, boundary: bytes) -> MultipartParser:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
                "on_end": self._on_end,
            },
        )

    def _on_part_begin(self) -> None:
        self._header, self._value, self._name, self._text = b"", b"", "", b""
        self._is_file = False

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
        self._header, self._value = b"", b""

    def _on_headers_finished(self) -> None:
        self._is_file = self._name == "file" and not self.has_file
        if self._is_file:
            self.has_file = True
            self._receiver.begin(self.fields)

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._receiver.write(data[start:end])
        elif not self.has_file:
            self._text += data[start:end]
            self._fields_bytes += end - start
            if self._fields_bytes > _MAX_FIELDS_BYTES:
                raise MalformedForm("the fields before the file are too long")

    def _on_part_end(self) -> None:
        # As object storage: fields after the file are ignored.
        if not self.has_file:
            self.fields[self._name] = self._text.decode("utf-8", "replace")

    def _on_end(self) -> None:
        self.is_complete = True
