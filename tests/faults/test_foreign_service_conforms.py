"""The foreign service keeps the contract, except where it breaks it on purpose."""

from partner_conformance import FAILED, Inputs, Subject, Wire, chosen, run

from ..servers.foreign_service import KEY, ForeignService

NOT_SERVED = "answered 404"
"""The suite's words for operations that the service does not have."""
ON_PURPOSE = {
    "resources-health-fields": "a deployment that tells no version, and an ISO string, as in an earlier release",
    "resources-usage-fields": "a quota that is no number",
    "endpoints-4-usage-tells-the-quota": "usage without the quota's headers",
    "limits-reset-is-when-the-month-ends": "usage without the quota's headers",
    "resources-usage-remaining-is-the-headers": "usage without the quota's headers",
    "resources-usage-has-an-entry-for-each-day": "days that are all the same",
    "resources-usage-days-end-today": "days that are all the same, and past",
    "limits-quota-counts-each-call-once": "days that are all the same, and past",
    "endpoints-slot-refuses-altered-values": "a slot that does not look at the values of the fields",
    "errors-7-request-id-on-every-response": "only `x-amzn-requestid` is sent",
    "endpoints-all-return-json": "no Content-Type",
    "resources-verify-fields": "an acceptance without `proofId`",
    "resources-every-timestamp-is-seconds": "a time with a fraction",
    "verdicts-audio-without-a-proof-is-unreadable": "audio without a verdict of its own is `valid`",
}


def test_it_breaks_the_contract_only_on_purpose(service: ForeignService) -> None:
    """So a run that succeeds with this service proves something about services that keep the contract."""
    with Wire(service.base_url, KEY, sleep=lambda _: None) as wire:
        results = list(run(chosen([], []), Subject(wire, Inputs())))

    complaints = {
        each.check.name: each.said for each in results if each.result == FAILED and NOT_SERVED not in each.said
    }
    assert complaints.keys() == ON_PURPOSE.keys(), complaints
