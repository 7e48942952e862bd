"""Export rows as completion reports: one file, or one for each value of a tag; each is written whole or not at all."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from proofsweep.answers.letters import file_name_of
from proofsweep.answers.report_formats import CompletionReport, GroupedRows, ReportRow, write_csv
from proofsweep.answers.report_workbook import write_xlsx
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import path_of
from proofsweep.model.completion_report import CELLS, own_cells, own_header
from proofsweep.model.tables.columns import Row
from proofsweep.model.tags import known_tag, tag_named, tag_of
from proofsweep.text import printable

FORMATS: Mapping[str, Callable[[Path, CompletionReport], None]] = {
    "csv": write_csv,
    "xlsx": write_xlsx,
}

_READ = [*CELLS, "tags"]


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A file, and how many rows are in it."""

    path: Path
    rows: int


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and of which catalogs the rows are."""

    reports: Sequence[WrittenReport]
    # location and root of each; a root is a URL, or None if the files may lie anywhere.
    catalogs: frozenset[tuple[str, str | None]]
    # the file of each value of the tag; of all rows, and of rows without the tag, under the empty text.
    paths: Mapping[str, Path]

    @property
    def root(self) -> str | None:
        """The one folder or prefix that all files lie in; None if they may lie anywhere."""
        roots = {root for _, root in self.catalogs}
        [only] = roots if len(roots) == 1 else [None]
        return None if only is None else path_of(only, "/")


def export(
    selected: SelectedRows,
    path: Path,
    tag: str | None = None,
    supplier_tag: str = "supplier",
) -> Exported:
    """Write the rows to a file whose ending says its format; with a tag, to one for each of its values beside it.

    The totals of a workbook count by the tag that names the supplier, if the rows have it.

    UsageError if a file exists already, or no row has the tag; nothing was written. ResultsError if the files cannot be
    written.
    """
    with TemporaryDirectory(prefix="proofsweep-") as folder:
        groups, catalogs = GroupedRows(Path(folder)), set()
        for plan, row in selected.rows(_READ):
            catalogs.add((plan.catalog, plan.catalog_root))
            report_row = report_row_of(row)
            groups.add("" if tag is None else tag_of(report_row.tags, tag) or "", report_row)
        if tag is not None and groups.counts:
            tag = known_tag(tag, (name for names in groups.tag_names.values() for name in names))
        targets = {"": path} if tag is None else _targets(path, sorted(groups.counts), tag)
        targets = {group: target for group, target in targets.items() if group in groups.counts}
        with _written_whole(targets.values()) as scratch:
            for group, target in targets.items():
                names = list(groups.tag_names[group])
                report = CompletionReport(names, own_header(), groups.rows(group), tag_named(supplier_tag, names))
                FORMATS[path.suffix.removeprefix(".")](scratch[target], report)
        reports = [WrittenReport(target, groups.counts[group]) for group, target in targets.items()]
        return Exported(reports, frozenset(catalogs), targets)


def report_row_of(row: Row) -> ReportRow:
    """Make a row of a report from one of `verdicts`."""
    tags = json.loads(str(row["tags"])) if row["tags"] else {}
    return ReportRow({str(name): str(cell) for name, cell in tags.items()}, own_cells(row))


def _targets(path: Path, values: Sequence[str], tag: str) -> dict[str, Path]:
    """Name a file for each value; also where a disk does not tell capital letters apart, no two are the same."""
    targets: dict[str, Path] = {}
    taken: set[str] = set()
    for value in values:
        plain = file_name_of(value) if value else f"no-{file_name_of(tag)}"
        names = (plain if number == 0 else f"{plain}-{number}" for number in count())
        name = next(each for each in names if each.lower() not in taken)
        taken.add(name.lower())
        targets[value] = path.with_name(f"{path.stem}-{name}{path.suffix}")
    return targets


@contextmanager
def _written_whole(targets: Iterable[Path]) -> Iterator[dict[Path, Path]]:
    """Yield a scratch file beside each target for the work inside; when all is written, put each in its place."""
    targets = list(targets)
    for target in targets:
        if target.exists():
            raise UsageError(
                f"{printable(str(target))} exists already; it is not overwritten. Name another with --file."
            )
    scratch = {target: target.with_name(f".{target.name}.part") for target in targets}
    try:
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch[target].unlink(missing_ok=True)
        yield scratch
        for target, written in scratch.items():
            written.replace(target)
    except OSError as error:
        because = error.strerror or "unknown error"
        raise ResultsError(
            f"The report cannot be written to {printable(str(targets[0].parent))} ({because})."
        ) from error
    finally:
        for written in scratch.values():
            with suppress(OSError):  # what hindered the writing is said already
                written.unlink(missing_ok=True)
