"""The lists beside a catalog page: what needs attention of each supplier, as CSV and as a workbook."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from proofsweep.answers.export import FORMATS, export
from proofsweep.answers.run_status import NEED_ATTENTION
from proofsweep.answers.views.screening import NO_SCREENING
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.errors import ResultsError, UsageError
from proofsweep.model.tags import key_of_tag
from proofsweep.store.plans_and_parts import Results
from proofsweep.text import printable

NAME = "needs-attention"
"""What the names of all lists begin with."""

Lists = Mapping[tuple[str, str | None], Mapping[str, str]]
"""As the links of a page have them: names of files, by the key of a tag and its value, then by format."""


@contextmanager
def written_lists(
    results: Results,
    environment: str,
    tags: Sequence[str],
    folder: Path,
    screening: Mapping[str, str] = NO_SCREENING,
) -> Iterator[Lists]:
    """Write the lists of all values of some tags; once the work inside has made its page, put them into a folder.

    Those of an earlier time go.

    A tag that no file which needs attention has gets no list. ResultsError if the lists cannot be written; then those
    of an earlier time may be there beside new ones, each whole.
    """
    found: dict[tuple[str, str | None], dict[str, str]] = {}
    selected = SelectedRows.of(results, None, environment, NEED_ATTENTION)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".lists-", dir=folder) as scratch:
            for number, tag in enumerate(tags):
                for form in FORMATS:
                    path = Path(scratch, f"{NAME}-{number + 1}.{form}" if number else f"{NAME}.{form}")
                    with suppress(UsageError):  # no such file has the tag
                        for value, written in export(selected, path, tag, screening, tag).paths.items():
                            found.setdefault((key_of_tag(tag), value or None), {})[form] = quote(written.name)
            yield found
            _put_in_place(folder, Path(scratch))
    except OSError as error:
        because = error.strerror or "unknown error"
        raise ResultsError(f"The lists cannot be written to {printable(str(folder))} ({because}).") from error


def below(folder: str, lists: Lists) -> Lists:
    """Return the lists as a page beside their folder links them."""
    return {key: {form: f"{quote(folder)}/{name}" for form, name in forms.items()} for key, forms in lists.items()}


def _put_in_place(folder: Path, scratch: Path) -> None:
    """Move the new lists into the folder; delete those of values that need nothing any more."""
    new = {path.name: path for path in scratch.rglob(f"{NAME}*")}
    for old in folder.glob(f"{NAME}*"):
        if old.name not in new and old.suffix.removeprefix(".") in FORMATS:
            old.unlink()
    for name, path in new.items():
        path.replace(folder / name)
