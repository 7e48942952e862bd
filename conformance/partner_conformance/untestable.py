"""Sentences of the contract that cannot be tested from outside, each with the reason. Pure."""

UNTESTABLE = (
    ("service", "Issuance has its own interface", "it is outside this contract"),
    ("service", "A grade never changes validity", "the service does not show its reasons"),
    (
        "service",
        "`valid` confirms the service's own signature and record",
        "there is no other source to compare with",
    ),
    ("service", "One-file delivery is WAV/BWF only", "only the service can issue a proof for other audio"),
    ("resources", "Usage is what billing and throttling see", "the billing data is not visible"),
    ("resources", "A record never contains the behavioral trace", "the form of a trace is not shown"),
    (
        "resources",
        "`hasFeedback` and the classification's value are right",
        "their sources are not visible",
    ),
    (
        "states",
        "A rotated key ends after 72 hours, a replay after 24",
        "it takes too long; only the stated times are checked",
    ),
    ("states", "Rotation and expiry are audit-logged", "the log is internal to the service"),
    ("states", "Retained data is removed with a proof", "only the record is visible"),
    ("endpoints-3", "409 for a replay with changed request data", "a rotation has no data to change"),
    ("endpoints-5", "Pending proofs are not listed", "only issuance makes a proof pending"),
    ("endpoints-8", "A download link is short-lived", "its lifetime is not stated"),
    ("endpoints-9", "The suggested wait is suitable", "it is a suggestion"),
    ("endpoints-10", "What other purposes, or none, mean", "not shown"),
    ("endpoints-12", "Further areas", "not shown"),
    ("authentication-1", "Keep the key on the server, never log it", "binds the caller"),
    ("authentication-7", "Device signatures", "outside this contract"),
    ("errors-2", "The names of `code`", "the list is open, and their statuses are not shown"),
    ("errors-3", "An unknown `code` is treated as its status class", "binds the caller"),
    ("errors-4", "500 for an internal failure", "it cannot be caused"),
    (
        "limits",
        "The quota is refilled each month, and exhausted with 429",
        "it takes a month and the whole quota",
    ),
    ("versioning-2", "Additive changes come at any time", "binds the caller; no check forbids further fields"),
    ("versioning-3", "`Sunset` and notice of six months", "it needs a breaking change"),
    ("versioning-4", "Notice of changed terms", "it is not part of the interface"),
    ("versioning-5", "Production has the same contract", "run the suite there too"),
    ("versioning-7", "How integrations are monitored", "binds the caller"),
)
"""Section, sentence, and reason."""
