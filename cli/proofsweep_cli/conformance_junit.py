"""Write the results as JUnit XML, the form that CI systems show."""

import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from partner_conformance import FAILED, NOT_TRIED, Result
from proofsweep.errors import ConfigError
from proofsweep.text import printable


def refuse_unwritable(file: Path) -> None:
    """Raise ConfigError if the report could not be written: before any call, not after them."""
    folder = file.absolute().parent
    if file.is_dir() or not os.access(folder, os.W_OK):
        raise ConfigError(f"The report {file} cannot be written; name a file in a folder that exists.")


def write_junit(file: Path, results: Sequence[Result], contract: str) -> None:
    """Write one test case per check; the file appears whole or not at all."""
    report = tostring(_suites(results, contract), encoding="utf-8", xml_declaration=True)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.write_bytes(report)
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigError(f"The report {file} cannot be written ({error.strerror}).") from error


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
    kind = "failure" if result.result == FAILED else "error" if result.is_unanswered else "skipped"
    if result.result in {FAILED, NOT_TRIED}:
        finding = SubElement(case, kind, {"message": printable(result.said)})
        lines = [result.check.sentence, *(f"request ID {each}" for each in result.request_ids)]
        finding.text = "\n".join(printable(line) for line in lines)
    return case
