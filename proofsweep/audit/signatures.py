"""Sign what an audit found, and check such signatures: an in-toto statement in a DSSE envelope, with Ed25519.

The signature says who ran the audit. It says nothing of the service, which signs nothing. The library of the envelope
is imported where it is used: it imports every library of a cloud that is installed, and most audits have no signature.
"""

import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from proofsweep import __version__
from proofsweep.audit.receipt_heads import ReceiptGraph, check_head, checked_head
from proofsweep.errors import UsageError
from proofsweep.model import layout
from proofsweep.model.findings import Audit, Findings
from proofsweep.store.store import Store, json_bytes

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:proofsweep:audit:v1"


def private_key(path: Path) -> Ed25519PrivateKey:
    """Read the key to sign with, an unencrypted PEM file; UsageError if it is none."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"{path} is no Ed25519 private key: an unencrypted PEM file (openssl genpkey -algorithm ed25519)."
        )
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Read the key to check signatures with, a PEM file; UsageError if it is none."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{path} is no Ed25519 public key (PEM: openssl pkey -in KEY -pubout).")
    return key


def sign_audit(store: Store, audit: Audit, key: Ed25519PrivateKey, now: datetime) -> str:
    """Write a signed statement of an audit, and return its name; UsageError if the audit found something wrong."""
    if audit.wrong or not audit.head:
        raise UsageError("Nothing was signed: only an audit that found nothing wrong is.")
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "head", "digest": {"sha256": digest}} for digest in audit.head.split("+")],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "says": "These records are as proofsweep wrote them. The service that they are about signed nothing.",
            "audited_at": now.astimezone(UTC).isoformat(timespec="seconds"),
            "checked": asdict(audit.checked),
            "proofsweep_version": __version__,
        },
    }
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - see above
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]  # noqa: PLC0415

    envelope = Envelope(json.dumps(statement, sort_keys=True).encode(), PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key))
    name = f"{layout.SIGNED_FOLDER}/{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.json"
    store.create(name, json_bytes(envelope.to_dict()))
    return name


def check_signatures(store: Store, key: Ed25519PublicKey, graph: ReceiptGraph, findings: Findings) -> None:
    """Check each signed statement of a store, and that its receipts still hold what they held."""
    names = [name for name in store.names(layout.SIGNED_FOLDER) if name.endswith(".json")]
    if not names:
        findings.bad(layout.SIGNED_FOLDER, "holds no signed audit to check with this key")
    for name in names:
        heads = _heads_in(store.read(name) or b"", key)
        if heads is None:
            findings.bad(name, "was changed, or was signed with another key than the one given")
        else:
            check_head(graph, "+".join(heads), findings)
    if names:
        findings.note(layout.SIGNED_FOLDER, f"signed audits that were checked: {len(names):,}")


def newest_signed(store: Store, graph: ReceiptGraph, names: Collection[str]) -> str | None:
    """Name the newest signed audit whose head holds some receipts; its signature is not checked."""
    for name in reversed(store.names(layout.SIGNED_FOLDER)):
        heads = _heads_of(store.read(name) or b"") if name.endswith(".json") else None
        if heads and graph.held_by("+".join(heads))[0].issuperset(names):
            return name
    return None


def _heads_in(content: bytes, key: Ed25519PublicKey) -> Sequence[str] | None:
    """Return the heads that an envelope signs; None if the key did not sign it, or if it is no such statement."""
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - see above
    from securesystemslib.exceptions import VerificationError  # noqa: PLC0415
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]  # noqa: PLC0415

    try:
        Envelope.from_dict(json.loads(content)).verify([SSlibKey.from_crypto(key)], 1)
    except (ValueError, KeyError, TypeError, AttributeError, VerificationError):
        return None
    return _heads_of(content)


def _heads_of(content: bytes) -> Sequence[str] | None:
    """Return the heads that an envelope names, whoever made it; None if it holds no such statement."""
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - see above

    try:
        envelope = Envelope.from_dict(json.loads(content))
        statement = json.loads(envelope.payload)
        kinds = (envelope.payload_type, statement["_type"], statement["predicateType"])
        heads = [checked_head(each["digest"]["sha256"]) for each in statement["subject"]]
    except (ValueError, KeyError, TypeError, AttributeError, UsageError):
        return None
    return heads if kinds == (PAYLOAD_TYPE, STATEMENT_TYPE, PREDICATE_TYPE) and heads else None
