"""Names that try to forge a line, to clear the screen, to turn the writing around or to break a table."""

from pathlib import Path

HOSTILE = (
    "a\naccepted · forged",
    "b\x1b[2J\x1b[31m",
    "c\u202egnp",
    "d` | x | <img src=x> [y](z)",
    "e\x9b1m\x85\u2028\r",
    "f\udcff",  # a byte that is no UTF-8
)


def assert_shows_no_command(output: str) -> None:
    """Fail if output holds a character that is not seen, or a line that a name has forged."""
    for line in output.split("\n"):
        assert line.isprintable()
        assert not line.startswith("accepted · forged")


def write_hostile_files(folder: Path, audio: bytes) -> list[Path]:
    """Write one audio file for each name: as the stem, and as the ending of another one that is no audio."""
    folder.mkdir()
    files = [folder / f"{name}.wav" for name in HOSTILE]
    for path in files:
        path.write_bytes(audio)
    for name in HOSTILE:
        (folder / f"{name[0]}.wav.{name}").write_bytes(b"no audio")
    return files
