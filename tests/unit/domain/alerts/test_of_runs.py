"""What is told when a leg has ended, or could not begin."""

from dataclasses import replace

import pytest

from proofsweep.domain.alerts.memory import ToldCauses
from proofsweep.domain.alerts.messages import Alert, AlertKind
from proofsweep.domain.alerts.of_runs import (
    RowKind,
    RunFacts,
    SupplierRejections,
    alerts_of_run,
    first_rejections,
    key_refused,
    not_begun,
    over_after_run,
    rows_failed,
    rows_remain,
    sunset_seen,
)

RUN = RunFacts(
    run_id="20261120T100000Z_aaaaaa",
    environment="beta",
    catalog="s3://label/catalog",
    results_url="s3://label/results",
    ended_by="quota",
    ending="stopped: the key's quota allows no more calls",
    items=26,
    remaining=23,
    why="Calls left in the key's quota: 1.",
    kinds=[RowKind(2, "accepted", "accept the credential"), RowKind(1, "rejected · tampered", "reject")],
)
DONE = replace(RUN, ended_by="complete", remaining=0, why=None)


def nothing_told(_cause: str) -> bool:
    """Nothing was told yet."""
    return False


def kinds(alerts: list[Alert]) -> list[AlertKind]:
    """Give the kinds of some alerts."""
    return [alert.kind for alert in alerts]


def test_rows_that_remain_are_told_with_counts_reasons_and_what_to_do() -> None:
    """The message says which run, what its rows are, and where the tables are."""
    alert = rows_remain(RUN)

    assert alert is not None
    assert alert.subject == "proofsweep: 23 of 26 rows remain (beta)"
    assert alert.body.splitlines() == [
        "Run `20261120T100000Z_aaaaaa`: stopped: the key's quota allows no more calls.",
        "It said: `Calls left in the key's quota: 1.`",
        "3 of 26 rows have their outcome:",
        "- 2 `accepted`: accept the credential",
        "- 1 `rejected · tampered`: reject",
        "To do: `proofsweep resume 20261120T100000Z_aaaaaa`; a deployment's next run resumes by itself.",
        "Run: `20261120T100000Z_aaaaaa`, catalog `s3://label/catalog`",
        "Tables: `s3://label/results`",
    ]


@pytest.mark.parametrize("ended_by", ["quota", "window", "breaker", "cancelled", "killed", "error"])
def test_rows_remain_whatever_ended_the_leg(ended_by: str) -> None:
    """Each ending is a cause of its own for this catalog; the run's number is not part of it."""
    alert = rows_remain(replace(RUN, ended_by=ended_by))

    assert alert is not None
    assert alert.causes == (f"rows_remain\tbeta\ts3://label/catalog\t{ended_by}",)


def test_a_finished_run_has_nothing_to_tell() -> None:
    """Everything is well."""
    assert alerts_of_run(DONE, nothing_told) == []


def test_a_refused_key_is_told_as_such_and_not_as_rows_that_remain() -> None:
    """One message, which says to replace the key."""
    (alert,) = alerts_of_run(replace(RUN, ended_by="key_refused"), nothing_told)

    assert alert.kind is AlertKind.KEY_REFUSED
    assert "put the right key in place" in alert.body
    assert key_refused(RUN) is None


def test_a_leg_shows_what_is_over() -> None:
    """It began and its key worked; only a whole catalog is the end of rows that remain."""
    refused = replace(RUN, ended_by="key_refused")

    assert over_after_run(refused) == ["not_begun\tbeta"]
    assert over_after_run(RUN) == ["not_begun\tbeta", "key_refused\tbeta"]
    assert over_after_run(DONE)[2:] == [
        "rows_remain\tbeta\ts3://label/catalog",
        "quota_short\tbeta\ts3://label/catalog",
        "some_failed\tbeta\ts3://label/catalog",
        "all_failed\tbeta\ts3://label/catalog",
    ]


@pytest.mark.parametrize(
    ("answered", "kind", "what"),
    [
        (24, AlertKind.SOME_FAILED, "2 of 26 rows failed"),
        (0, AlertKind.ALL_FAILED, "2 of 26 rows failed, and none was"),
    ],
)
def test_failed_rows_of_a_finished_run_are_told(answered: int, kind: AlertKind, what: str) -> None:
    """By catalog; a run that shows one of the two causes ends the other."""
    run = replace(DONE, failed=2, answered=answered)

    alert = rows_failed(run)

    assert alert is not None
    assert (alert.kind, alert.causes) == (kind, (f"{kind}\tbeta\ts3://label/catalog",))
    assert what in alert.subject
    assert f"`proofsweep redrive {RUN.run_id} --reason REASON`" in alert.body
    assert {AlertKind.SOME_FAILED, AlertKind.ALL_FAILED} - {kind} == {
        cause.partition("\t")[0] for cause in over_after_run(run) if "failed" in cause
    }


def test_failed_rows_are_not_told_while_others_remain() -> None:
    """The run is told of as one whose rows remain, with all that it has so far."""
    assert rows_failed(replace(RUN, failed=2)) is None
    assert rows_failed(DONE) is None


def test_rejections_are_told_once_for_each_supplier_and_reason() -> None:
    """A supplier that was told of for one reason is news for another one."""
    known, new = SupplierRejections("Alpha", "tampered", 3), SupplierRejections("Alpha", "audioChanged", 1)
    before = first_rejections(replace(RUN, rejections=[known]), nothing_told)
    assert before is not None
    told = ToldCauses(dict.fromkeys(before.causes)).is_told  # type: ignore[arg-type]  # the instant plays no part

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


@pytest.mark.parametrize(
    ("ended_by", "kind"),
    [
        ("key_refused", AlertKind.KEY_REFUSED),
        ("breaker", AlertKind.NOT_BEGUN),
        ("quota", AlertKind.NOT_BEGUN),
        ("cancelled", None),
    ],
)
def test_a_run_that_cannot_begin_is_told_unless_somebody_stopped_it(ended_by: str, kind: AlertKind | None) -> None:
    """The service's answer before the first file decides."""
    alert = not_begun("beta", ended_by, "It does not answer.", "results")

    assert (None if alert is None else alert.kind) == kind


def test_a_key_refused_before_and_in_a_leg_is_one_cause() -> None:
    """It is told once, wherever it was found."""
    before, within = (
        not_begun("beta", "key_refused", "no", "results"),
        key_refused(replace(RUN, ended_by="key_refused")),
    )

    assert before is not None
    assert within is not None
    assert before.causes == within.causes


def test_a_message_carries_the_head_of_the_records() -> None:
    """Whoever keeps it can check the records by it later; without one the line is left out."""
    run = replace(RUN, remaining=1)

    with_head, without = rows_remain(replace(run, head="ab" * 32)), rows_remain(run)

    assert with_head is not None
    assert without is not None
    assert f"Head of the records: `{'ab' * 32}`" in with_head.body
    assert "Head" not in without.body
