"""Compare names as people mean them: composed and decomposed Unicode are one name; and without regard to case. Pure."""

from unicodedata import normalize


def composed(name: str) -> str:
    """Return the one form of Unicode in which names are compared (NFC): file systems and archives change it."""
    return name if name.isascii() else normalize("NFC", name)


def caseless(name: str) -> str:
    """Return the same of names that differ in upper and lower case."""
    return composed(composed(name).casefold())
