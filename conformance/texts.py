"""The strings of a document. Pure."""

from collections.abc import Iterator


def texts_in(value: object) -> Iterator[str]:
    """Yield every string in a document, but no name of a member."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def links_in(value: object) -> list[str]:
    """Return every URL in a document."""
    return [text for text in texts_in(value) if text.startswith(("http://", "https://"))]
