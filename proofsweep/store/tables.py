"""The tables of a results store: all their columns, in their order, each with its meaning.

Schemas, views, searches and the docs are made of these declarations.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.outcomes import Action
from proofsweep.files.formats import AudioFormat

TIME = "timestamp[us, tz=UTC]"
_GOES_ON = r"\n {30,}"  # a line that goes on below


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str  # as Arrow calls it
    meaning: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    name: str  # of the table, its view and the folder of its parts
    written_by: str  # a leg, an ingest pass, monitoring or an operation
    meaning: str  # what one row is, in a sentence or two
    columns: Sequence[Column]


# A table and what writes it, and a column a line: its kind, with `!` if it is never null, and its meaning.
# `verdicts` first: the rows of others may name an item by the proof that its answer names.
_DECLARED = f"""
verdicts (leg): One row for each row of a catalog and each run.
    run_id               string!    the run
    leg                  int32!     the leg of the run that finished this row
    environment          string!    label of the service's environment: sandbox, beta, production
    manifest_row         int64!     0-based row of the catalog as planned; unique within the run
    item_id              string!    the same in every run and on every machine; join runs by it
    audio                string!    location of the audio: an absolute path or a URL
    sidecar              string     location of the sidecar proof file
    sidecar_source       string     given, or recovered: a recovery has written these bytes there
    mode                 string     one_file or legacy_pair; null without an audio file, or with an ambiguous sidecar
    audio_format         string     recognised from the content: {" ".join(AudioFormat)}
    audio_bytes          int64      size of the audio in bytes
    audio_sha256         string     hex sha256 of the bytes that were sent
    sidecar_sha256       string     hex sha256 of the sidecar that was sent
    audio_version        string     the store's version of the audio: ETag, or size and modification time
    outcome              string!    accepted, rejected, failed or ineligible
    accepted             bool!      true only for good = true and verdict = valid
    action               string!    what to do next: {", ".join(Action)}
    verdict              string     as received, also if unknown; null if the service gave none
    good                 bool       as received; null if absent
    reason               string     why the row is not accepted; null if it is
    detail               string     the reason in one sentence for a person
    http_status          int16      HTTP status of the last answer
    error_code           string     ApiError code as received
    proof_id             string     as received
    song                 string     as received
    issued_at            timestamp  when the proof was issued
    classification       string     report-only, as received
    grade_human          double     report-only; null unless it is a number or text that reads as one
    grade_ai             double     as grade_human
    grade_unknown        double     as grade_human
    grade_risk_category  string     report-only
    grade_rubric_version string     report-only
    grade_json           string     the whole grade as received, as canonical JSON
    interpretation_json  string     the whole interpretation as received, as canonical JSON
    embedded_credential_json string     the whole embeddedCredential as received, as canonical JSON
    publicly_trusted     bool       as received; null if absent; false is not a failure
    uploads_request_id   string     X-Request-Id of the POST /uploads that led to this outcome
    verify_request_id    string     X-Request-Id of the POST /verify that gave this outcome
    storage_request_id   string     the storage target's own ID, if it gives one
    answer_sha256        string     hex sha256 of the exact body that POST /verify answered
    answered_by_row      int64      the row of this run with the same bytes whose answer is used; else null
    verify_attempts      int32!     attempts of POST /verify in the try that led to this outcome
    calls                int32!     keyed requests sent for this row in its leg, by all its tries, whatever the answer
    started_at           timestamp  when work on the row began
    finished_at          timestamp  when work on the row ended
    slot_ms              double     milliseconds of POST /uploads, of the attempt that led to the outcome
    upload_ms            double     milliseconds of the slot's form POST
    verify_ms            double     milliseconds of POST /verify
    tags                 string     the manifest's further columns as a JSON object
    sidecar_version      string     the store's version of the sidecar when the run was planned
    relative_path        string     the audio below the catalog's root; null outside; without audio the row's line
    manifest_line        string     the manifest and the line, as an editor counts it: `list.xlsx, row 107`
    answered_by_run      string     the earlier run whose answer is used; request IDs and times are of its row
    answered_at          timestamp  when the service gave the verdict, by its own clock; an item's newest counts

exchanges (leg): One row for each HTTP exchange, retries included.
    run_id               string!    the run, or the operation
    leg                  int32!     the leg of the run or operation that made the call
    manifest_row         int64      the row that the call was made for; null for a call for no row
    call                 string!    the call: uploads, slot, verify, usage, health …; never a path
    attempt              int32!     number of this attempt of the call for this row, from 1
    started_at           timestamp! when the request began
    elapsed_ms           double!    milliseconds until the answer was read
    status               int16      HTTP status; null without an answer
    error_code           string     ApiError code as received
    failure              string     timeout, connection, bad_answer or source (the file was not whole); null if usable
    request_id           string     X-Request-Id or x-amzn-requestid; for call slot, the storage target's own ID
    retry_after_seconds  double     Retry-After as a duration in seconds
    rate_limit           int64      X-RateLimit-Limit: the monthly quota
    rate_remaining       int64      X-RateLimit-Remaining: calls left
    rate_reset           timestamp  X-RateLimit-Reset: when the quota resets
    bytes_sent           int64      bytes of the request's body, up to the answer; null without a connection
    partner_date         timestamp  the answer's Date header
    sunset               string     the answer's Sunset header, which announces a breaking change
    environment          string     label of the service's environment
    unnamed              string     names of members of the answer that the contract does not name, sorted, with commas

runs (leg): One row for each leg of a run.
    run_id               string!    the run
    leg                  int32!     one attempt at the run, counted from 1
    environment          string!    label of the service's environment
    base_url_host        string     host of the service
    key_fingerprint      string     12 hex digits of the leg's last key, which do not reveal it
    flow_run_id          string     ID of the Prefect flow run
    catalog              string     location of the catalog
    catalog_digest       string     hex sha256 of the catalog as planned
    started_at           timestamp  when the leg began
    finished_at          timestamp  when the leg ended
    ended_by             string!    {", ".join(EndedBy)}
    items                int64      rows of the whole plan
    skipped              int64      catalog rows left out of the plan because they were not due
    accepted             int64      accepted rows of this leg
    rejected             int64      rejected rows of this leg
    failed               int64      failed rows of this leg
    ineligible           int64      ineligible rows of this leg
    remaining            int64      rows of the whole plan without an outcome after this leg
    bytes_sent           int64      bytes of all request bodies of this leg
    calls                int64      keyed requests sent, whatever the answer
    calls_again          int64      of these calls, those that repeat a call answered in an earlier leg
    calls_unrecorded     int64      calls that are in no table: 0; null for a killed leg, of which they are not known
    throttled            int64      answers with status 429
    rate_learned         double     calls per second that the service admits, as learned; null if the leg met no 429
    quota_before         int64      calls left in the quota when the leg began
    quota_after          int64      calls left in the quota when the leg ended
    service_version      string     from GET /health
    service_commit       string     from GET /health
    service_deployed_at  timestamp  from GET /health
    contract_version     string     version of the contract that this program implements
    proofsweep_version   string     version of this program
    sunset               string     the last Sunset header received, which announces a breaking change

ingest (ingest pass): One row for each delivered file that a pass over a watched folder has verified or moved.
    run_id               string!    the run whose answer counts; its row is in `verdicts`
    leg                  int32!     the leg of that run
    environment          string!    label of the service's environment
    watched              string!    the watched folder or prefix
    item_id              string!    as in `verdicts`
    audio                string!    where the audio was delivered
    sidecar              string     where the sidecar was delivered
    audio_bytes          int64      size of the audio in bytes
    audio_version        string     the store's version of the audio
    sidecar_version      string     the store's version of the sidecar
    audio_sha256         string     hex sha256 of the audio that was verified
    sidecar_sha256       string     hex sha256 of the sidecar that was verified
    supplier             string     the first folder below the watched one; of a delivery in none its sender; else null
    outcome              string!    accepted, rejected, failed or ineligible
    reason               string     why it is not accepted; null if it is
    tries                int32!     how often this version was tried, this time included
    retry_at             timestamp  when it is tried again; null if it is not
    disposition          string!    left, accepted, quarantined, or gone: taken away or replaced
    audio_moved_to       string     where the audio is after a move
    sidecar_moved_to     string     where the sidecar is after a move
    detail               string     why a move was not made, or why an accepted file lies in quarantine; else null
    first_seen_at        timestamp  when a pass first saw this version
    verified_at          timestamp  when the row got its outcome
    acted_at             timestamp! when the file was moved or left
    tags                 string     of a delivery's file, what its message says, as a JSON object

probes (monitoring): One row for each probe of the service: status, latency, request ID, headers of the quota, and what
                                    is wrong.
    operation_id         string!    the pass of monitoring
    environment          string!    label of the service's environment
    call                 string!    health or usage
    started_at           timestamp! when the request began
    elapsed_ms           double!    milliseconds until the answer was read, or given up
    status               int16      HTTP status; null without an answer
    error_code           string     ApiError code as received
    failure              string     timeout, connection or bad_answer; null if the answer was usable
    trouble              string     not_ok, throttled, key_refused, http_<status> or the failure; null if all is well
    request_id           string     X-Request-Id or x-amzn-requestid
    retry_after_seconds  double     Retry-After as a duration in seconds
    rate_limit           int64      X-RateLimit-Limit: the monthly quota
    rate_remaining       int64      X-RateLimit-Remaining: calls left; authoritative for call usage
    rate_reset           timestamp  X-RateLimit-Reset: when the quota resets
    ok                   bool       GET /health: its member ok, which may be false with status 200
    service_version      string     GET /health: version
    service_commit       string     GET /health: commit
    service_deployed_at  timestamp  GET /health: deployedAt
    partner_date         timestamp  the answer's Date header
    sunset               string     the answer's Sunset header, which announces a breaking change
    base_url             string     the service that was asked
    usage_json           string     GET /partner/usage: JSON array of day, used, remaining, quota_limit, quota_period

rotations (operation): One row for each rotation of an API key: the IDs of both keys, when the old one ends, and the
                                    request ID; never a key.
    operation_id         string!    the rotation; its calls are in `exchanges` under this ID
    environment          string!    label of the service's environment
    key_fingerprint      string!    12 hex digits of the key that was rotated, as in `runs`
    new_key_fingerprint  string!    12 hex digits of the new key
    requested_at         timestamp! when it was asked for; of a key that only an interrupted rotation kept, when it was
                                    written
    answered_at          timestamp! when the new key had come
    key_id               string     ID of the key that was rotated; null unless an earlier row of this table names it
    new_key_id           string     ID of the new key; null if an interrupted rotation kept only the key itself
    new_key_name         string     name of the new key
    previous_key_expires_at timestamp  when the old key ends, as the service said
    replayed             bool!      whether the answer was a replay of an earlier one
    request_id           string     X-Request-Id of the answer

erasures (operation): One row for each proof that the service was asked to erase, and what it answered; a repeat is a
                                    row of its own.
    operation_id         string!    the erasure; its calls are in `exchanges` under this ID
    environment          string!    label of the service's environment
    proof_id             string!    the proof
    outcome              string     erased or already_erased, as received; null without a usable answer
    erased_at            timestamp  erasedAt: when the service erased it
    asked_at             timestamp! when the call began
    answered_at          timestamp! when the call was over, retries included
    request_id           string     X-Request-Id of the answer
    http_status          int16      HTTP status of an answer that is no success
    reason               string     why it is not known to be erased: http_<status>, timeout, bad_answer …; null if it
                                    is

proofs (operation): One row for each proof of each inventory: as the service lists it, and how the newest answer agrees
                                    with it.
    operation_id         string!    the inventory
    environment          string!    label of the service's environment
    proof_id             string!    the proof
    state                string!    matched; differs, from the answer; no_file, the newest answers do not name it;
                                    not_listed, an accepted file names it and the service does not list it
    song                 string     as listed
    issued_at            timestamp  as listed
    classification       string     as listed; report-only, and absent on older proofs
    has_feedback         bool       as listed
    files                int64      items whose newest answer names the proof
    item_id              string     the item of these that was answered last
    audio                string     its audio
    run_id               string     the run of its newest answer
    differs              string     what the answer has otherwise: classification, issued_at, or both with a comma
    answer_issued_at     timestamp  issued_at of the newest answer
    answer_classification string     classification of the newest answer

interpretations (operation): One row for each process note of each refresh that asked for it. Notes are report-only.
    operation_id         string!    the refresh
    environment          string!    label of the service's environment
    proof_id             string!    the proof
    item_id              string     an item whose newest answer accepts the proof
    status               string!    ready, pending or unavailable as received; gone, no such proof exists (404); failed,
                                    no answer could be had
    text                 string     the note, when ready; report-only
    policy_version       string     the presentation policy that made the note, if it says so
    retry_after_seconds  double     the wait that a pending answer suggested
    asked_at             timestamp! when it was asked for
    request_id           string     X-Request-Id of the answer

recoveries (operation): One row for each sidecar that was missing, and that a recovery asked for.
    operation_id         string!    the recovery
    environment          string!    label of the service's environment
    proof_id             string!    the proof whose sealed sidecar was asked for
    item_id              string!    the item, as in `verdicts`
    audio                string!    its audio, as in `verdicts`
    sidecar              string     its sidecar, as in `verdicts`
    outcome              string!    recovered; present, a file appeared there meanwhile; gone, no such proof exists
                                    (404); failed
    recovered_to         string     where the sealed sidecar was written; null if it was not
    sidecar_bytes        int64      size of the sealed sidecar
    sidecar_sha256       string     hex sha256 of the sealed sidecar
    detail               string     one sentence for a person
    request_id           string     X-Request-Id of GET /proofs/{{proofId}}
    acted_at             timestamp! when the row was made
"""


def _columns(text: str) -> list[Column]:
    # Each line is `name kind meaning`; `!` after the kind says that no cell of the column is null.
    columns: list[Column] = []
    for line in re.sub(_GOES_ON, " ", text.strip()).splitlines():
        name, kind, meaning = line.split(maxsplit=2)
        is_nullable = not kind.endswith("!")
        kind = TIME if kind.startswith("timestamp") else kind.removesuffix("!")
        columns.append(Column(name, kind, meaning, is_nullable))
    return columns


def _tables() -> Iterator[Table]:
    # An empty line ends a declaration; its first line is `name (writer): meaning`.
    declarations = re.sub(_GOES_ON, " ", _DECLARED.strip())
    for declared in declarations.split("\n\n"):
        head, _, columns = declared.partition("\n")
        name, written_by, meaning = re.split(r" \(|\): ", head, maxsplit=2)
        yield Table(name, written_by, meaning, _columns(columns))


TABLES = {table.name: table for table in _tables()}

RECEIPTED = ("verdicts", "exchanges")
"""The tables whose parts the receipts of legs name, and whose old parts a pruning deletes."""

ANSWERED = ("accepted", "rejected")
"""The outcomes that are an answer of the service."""

NEWEST_LAST = ("answered_at", "run_id", "leg", "manifest_row")
"""The order of the rows of an item: the newest is the one that the service answered last, by its own clock."""

NEWEST_FIRST = ", ".join(f"{name} DESC" for name in NEWEST_LAST)
"""The same in SQL, for a window."""

GONE = ("erased", "already_erased")
"""The outcomes of `erasures` of a proof of which the service has nothing any more (contract, EraseProofResponse)."""


def _of_verdicts(names: str) -> list[Column]:
    columns = {column.name: column for column in TABLES["verdicts"].columns}
    return [columns[name] for name in names.split()]


PLANNED_ITEMS = _of_verdicts("""
    manifest_row item_id audio_bytes audio_version tags reason detail sidecar_version relative_path manifest_line
    audio_format
""") + _columns("""
    audio                binary!    location as exact bytes, because a file name may not be UTF-8
    sidecar              binary     location of the sidecar
    declared             string     what the delivery says of the audio: JSON object of `size_bytes` and digests
    is_delivered         bool       whether the file is of a delivery
    is_touched           bool       whether only its time differs from what was answered, as far as a listing shows
""")
"""The objects of a plan, which are no table: its work items in manifest order."""

LATEST = _of_verdicts("""
    item_id environment run_id leg manifest_row audio sidecar mode audio_format audio_bytes audio_sha256
    sidecar_sha256 audio_version outcome accepted action verdict reason proof_id song issued_at classification
    grade_human grade_ai grade_unknown grade_risk_category grade_rubric_version publicly_trusted verify_request_id
    finished_at sidecar_version detail tags relative_path http_status error_code uploads_request_id manifest_line
    answered_at calls
""") + _columns("""
    first_run_id         string!    the first run that had the item, of those whose rows are there
    outcome_since        timestamp  since when each answer of the item has the outcome of the newest one
    part                 string!    name of the part of `verdicts` that has the row
""")
"""Columns of the newest answer of each item, and of its newest row without one. Derived."""


def written_by(writer: str) -> tuple[str, ...]:
    return tuple(table.name for table in TABLES.values() if table.written_by == writer)
