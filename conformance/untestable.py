"""Sentences of the contract that nobody can test from outside, and why. Pure."""

UNTESTABLE = (
    ("service", "Issuance has an interface of its own", "it is outside this contract"),
    ("service", "A grade never changes validity", "the service's reasons are not to be seen"),
    (
        "service",
        "`valid` confirms the service's own signature and record",
        "who tests has no other source to compare with",
    ),
    ("service", "One-file delivery is WAV/BWF only", "a proof for other audio cannot be made outside the service"),
    ("resources", "Usage is what billing and throttling see", "billing is not to be seen"),
    ("resources", "A record never contains the behavioral trace", "what a trace looks like is not shown"),
    (
        "resources",
        "`hasFeedback` and the classification's value are right",
        "what they are drawn from is not to be seen",
    ),
    (
        "states",
        "A rotated key ends after 72 hours, a replay after 24",
        "nobody waits that long; the times told are checked",
    ),
    ("states", "Rotation and expiry are audit-logged", "the log is the service's own"),
    ("states", "Retained data is removed with a proof", "only the record can be asked for"),
    ("endpoints-3", "409 for a replay with changed request data", "a rotation has no data to change"),
    ("endpoints-5", "Pending proofs are not listed", "a proof is made pending by issuance alone"),
    ("endpoints-8", "A download link is short-lived", "its lifetime is not stated"),
    ("endpoints-9", "The seconds to wait are well chosen", "it is a suggestion"),
    ("endpoints-10", "What other purposes, or none, mean", "not shown"),
    ("endpoints-12", "Further areas", "not shown"),
    ("authentication-1", "Keep the key on the server, never log it", "binds the caller"),
    ("authentication-7", "Device signatures", "outside this contract"),
    ("errors-2", "The names of `code`", "further ones may come, and their statuses are not shown"),
    ("errors-3", "An unknown `code` is treated as its status class", "binds the caller"),
    ("errors-4", "500 for an internal failure", "it cannot be brought about"),
    (
        "limits",
        "The quota is refilled each month, and exhausted with 429",
        "a month, and the whole quota, would be spent",
    ),
    ("versioning-2", "Additive changes come at any time", "binds the caller; checks demand no absence of fields"),
    ("versioning-3", "`Sunset` and notice of six months", "it needs the announcement of a breaking change"),
    ("versioning-4", "Notice of changed terms", "no matter of the interface"),
    ("versioning-5", "Production has the same contract", "run the suite there as well"),
    ("versioning-7", "How integrations are monitored", "binds the caller"),
)
"""Section, sentence, and why it is not tested."""
