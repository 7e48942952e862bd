"""The foreign service is contrary where the contract is silent; where it breaks the contract, it does so on purpose."""

from conformance import FAILED, Inputs, Subject, Wire, chosen, run

from .foreign_service import KEY, Foreign

NOT_SERVED = "answered 404"
"""What the suite says of the operations that are not there at all."""
ON_PURPOSE = {
    "resources-health-fields": "a deployment that tells no version",
    "resources-health-deployed-at-in-seconds": "an ISO string, as in an earlier release",
    "resources-usage-plan": "a quota that is no number",
    "resources-usage-days": "a day without `remaining`",
    "resources-usage-counts": "a day without `remaining`",
    "endpoints-4-usage-tells-the-quota": "usage without the quota's headers",
    "limits-limit-header-is-the-quota": "usage without the quota's headers",
    "limits-reset-is-when-the-month-ends": "usage without the quota's headers",
    "endpoints-4-remaining-is-live": "usage without the quota's headers",
    "errors-7-request-id-on-every-response": "only `x-amzn-requestid` is sent",
    "errors-7-amzn-request-id-is-the-same": "only `x-amzn-requestid` is sent",
    "endpoints-all-return-json": "no Content-Type",
    "verdicts-audio-without-a-proof-is-unreadable": "what nobody said anything of is `valid`",
}


def test_it_breaks_the_contract_nowhere_else(service: Foreign) -> None:
    """A run that goes well against it goes well against what the contract permits, and against these breaches."""
    with Wire(service.base_url, KEY, sleep=lambda _: None) as wire:
        results = list(run(chosen([], []), Subject(wire, Inputs())))

    complaints = {
        each.check.name: each.said for each in results if each.result == FAILED and NOT_SERVED not in each.said
    }
    assert complaints.keys() == ON_PURPOSE.keys(), complaints
