"""Write the results as JUnit XML, the form that CI systems show, after each check: what ends the suite leaves them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from partner_conformance.definition import Check
from partner_conformance.results import ADVICE, FAILED, NOT_TRIED, PASSED, Result, printable
from partner_conformance.stop import Stop

_NOT_REACHED = "not reached: the suite ended before it"


class JUnitFile:
    """The report; a check without a result yet is skipped."""

    def __init__(self, file: Path, checks: Iterable[Check], contract: str) -> None:
        self._file = file
        self._contract = contract
        self._results = {each.name: Result(check=each, result=NOT_TRIED, said=_NOT_REACHED) for each in checks}
        folder = file.absolute().parent
        if file.is_dir() or not os.access(folder, os.W_OK):
            raise Stop(f"The report {file} cannot be written; name a file in a folder that exists.")

    def add(self, result: Result) -> None:
        """Write the report with one more result; the file appears whole or not at all."""
        self._results[result.check.name] = result
        report = tostring(_suites(list(self._results.values()), self._contract), "utf-8", xml_declaration=True)
        partial = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            partial.write_bytes(report)
            partial.replace(self._file)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise Stop(f"The report {self._file} cannot be written ({error.strerror}).") from error


def _suites(results: Sequence[Result], contract: str) -> Element:
    counts = {
        "tests": len(results),
        "failures": sum(each.result == FAILED for each in results),
        "errors": sum(each.is_unanswered for each in results),
        "skipped": sum(each.result == NOT_TRIED and not each.is_unanswered for each in results),
    }
    totals = {name: str(count) for name, count in counts.items()}
    totals["time"] = f"{sum(each.seconds for each in results):.3f}"
    suites = Element("testsuites", totals)
    suite = SubElement(suites, "testsuite", {"name": f"contract {contract}", **totals})
    for each in results:
        suite.append(_case(each))
    return suites


def _case(result: Result) -> Element:
    name = result.check.name
    section = name.partition("-")[0]
    case = Element("testcase", {"name": name, "classname": f"conformance.{section}", "time": f"{result.seconds:.3f}"})
    lines = "\n".join(map(printable, (result.check.sentence, *(f"request ID {each}" for each in result.request_ids))))
    if result.result == ADVICE:
        SubElement(case, "system-out").text = f"advice: {printable(result.said)}\n{lines}"
    elif result.result != PASSED:
        kind = "failure" if result.result == FAILED else "error" if result.is_unanswered else "skipped"
        SubElement(case, kind, {"message": printable(result.said)}).text = lines
    return case
