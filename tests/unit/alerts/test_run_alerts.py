"""What is told when a leg has ended, or could not begin."""

from dataclasses import replace

import pytest

from proofsweep.alerts.messages import SentCauses
from proofsweep.alerts.run_alerts import (
    RowKind,
    RunFacts,
    SupplierRejections,
    alerts_of_end,
    alerts_of_run,
    end_of_run,
    first_rejections,
    over_after_end,
    still_in_doubt,
    sunset_seen,
)

RUN = RunFacts(
    run_id="20261120T100000Z_aaaaaa",
    environment="beta",
    catalog="s3://label/catalog",
    results_url="s3://label/results",
    state="QuotaSpent",
    ending="stopped: the key's quota allows no more calls",
    items=26,
    remaining=23,
    why="Calls left in the key's quota: 1.",
    machine="worker-3",
    kinds=[RowKind(2, "accepted", "accept the credential"), RowKind(1, "rejected · tampered", "reject")],
)
DONE = replace(RUN, state="Completed", remaining=0, why=None)


def nothing_told(_cause: str) -> bool:
    """Nothing was told yet."""
    return False


def test_rows_that_remain_are_told_with_counts_reasons_and_what_to_do() -> None:
    """The message says which run, what its rows are, and where the tables are."""
    (alert,) = alerts_of_end(end_of_run(RUN))

    assert alert.subject == "proofsweep: 23 of 26 rows remain (beta)"
    assert alert.causes == ("rows_remain\tbeta\ts3://label/catalog\tQuotaSpent",)
    assert alert.body.splitlines() == [
        "Flow `verify-catalog` of `s3://label/catalog` ended as QuotaSpent.",
        "Run `20261120T100000Z_aaaaaa`: stopped: the key's quota allows no more calls.",
        "It said: `Calls left in the key's quota: 1.`",
        "3 of 26 rows have their outcome:",
        "- 2 `accepted`: accept the credential",
        "- 1 `rejected · tampered`: reject",
        "Account `beta`, catalog `s3://label/catalog`, machine `worker-3`, 23 rows at risk.",
        "If nobody acts: the next run of the schedule resumes them; nothing is lost, and nothing is paid twice.",
        "To do: nothing, if the rest may wait: the next run resumes it, or `proofsweep resume`.",
        "Tables: `s3://label/results`",
    ]


def test_a_finished_run_has_nothing_to_tell() -> None:
    """Everything is well."""
    assert alerts_of_run(DONE, nothing_told) == []


@pytest.mark.parametrize(
    ("answered", "state", "what"),
    [(24, "SomeFailed", "2 of 26 rows failed"), (0, "AllFailed", "2 of 26 rows failed, and none was")],
)
def test_failed_rows_of_a_finished_run_are_told(answered: int, state: str, what: str) -> None:
    """With their count; a run that shows one of the two causes ends the other."""
    end = end_of_run(replace(DONE, failed=2, answered=answered, state=state))

    (alert,) = alerts_of_end(end)

    assert what in alert.subject
    assert "`proofsweep redrive RUN --reason REASON`" in alert.body
    assert not [cause for cause in over_after_end(end) if alert.causes[0].startswith(cause)]


def test_files_in_doubt_are_told_after_three_nights() -> None:
    """One night may be an outage, and two a weekend."""
    alert = still_in_doubt(replace(RUN, in_doubt=4, nights_in_doubt=3))

    assert alert is not None
    assert alert.subject == "proofsweep: 4 files in doubt for three nights (beta)"
    assert still_in_doubt(replace(RUN, in_doubt=4, nights_in_doubt=2)) is None


def test_rejections_are_told_once_for_each_supplier_and_reason() -> None:
    """A supplier that was told of for one reason is news for another one."""
    known, new = SupplierRejections("Alpha", "tampered", 3), SupplierRejections("Alpha", "audioChanged", 1)
    before = first_rejections(replace(RUN, rejections=[known]), nothing_told)
    assert before is not None
    told = SentCauses(dict.fromkeys(before.causes)).was_sent  # type: ignore[arg-type]  # the instant plays no part

    again = first_rejections(replace(RUN, rejections=[known]), told)
    alert = first_rejections(replace(RUN, rejections=[known, new, SupplierRejections("Beta", "tampered", 9)]), told)

    assert again is None
    assert alert is not None
    assert alert.subject == "proofsweep: first rejected files of 2 suppliers (beta)"
    assert (
        "- 1 of `Alpha`, `audioChanged`: ask the supplier for the audio and sidecar that belong together" in alert.body
    )
    assert "- 9 of `Beta`" in alert.body
    assert "`Alpha`, `tampered`" not in alert.body


def test_a_thousand_new_suppliers_are_one_short_message() -> None:
    """The first night of a catalog may have many."""
    many = [SupplierRejections(f"supplier {number:04}", "tampered", 1) for number in range(1_000)]

    alert = first_rejections(replace(RUN, rejections=many), nothing_told)

    assert alert is not None
    assert len(alert.causes) == 1_000
    assert "- and 990 more" in alert.body
    assert len(alert.body) < 3_000


def test_a_sunset_header_is_told_once_for_each_day_that_it_names() -> None:
    """It announces a breaking change."""
    alert = sunset_seen(replace(DONE, sunset="Sat, 31 Jul 2027 00:00:00 GMT"))

    assert alert is not None
    assert "`Sat, 31 Jul 2027 00:00:00 GMT`" in alert.body
    assert alert.causes == ("sunset\tbeta\tSat, 31 Jul 2027 00:00:00 GMT",)


def test_text_of_catalogs_and_of_the_service_cannot_mention_anybody() -> None:
    """A catalog's name, a supplier's tag and a header are written by others."""
    bad = "<!channel>\n@here`"
    rejections = [SupplierRejections(bad, bad, 1)]
    run = replace(RUN, catalog=bad, why=bad, sunset=bad, results_url=bad, rejections=rejections, environment=bad)

    for alert in alerts_of_run(run, nothing_told):
        assert not set("<>@") & set(alert.subject + alert.body)
        assert "\n" not in alert.subject
        assert all(line.count("`") % 2 == 0 for line in alert.body.splitlines())


def test_a_message_carries_the_head_of_the_records() -> None:
    """Whoever keeps it can check the records by it later; without one the line is left out."""
    (with_head,) = alerts_of_end(end_of_run(replace(RUN, head="ab" * 32)))
    (without,) = alerts_of_end(end_of_run(RUN))

    assert f"Head of the records: `{'ab' * 32}`" in with_head.body
    assert "Head" not in without.body
