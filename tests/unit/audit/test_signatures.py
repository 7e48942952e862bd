"""A signed audit says who ran it, and of which head; it cannot be changed or signed by another."""

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from proofsweep.audit.audit_store import audit_store
from proofsweep.audit.signatures import private_key, public_key, sign_audit
from proofsweep.errors import UsageError
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import NEWEST, NOW, end_leg, planned

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)


def wrong(results: Results, key: Ed25519PrivateKey = KEY) -> list[str]:
    """Check the signed audits; list what is wrong."""
    done = audit_store(results, signed_by=key.public_key())
    return [f"{finding.where} {finding.what}" for finding in done.wrong]


def test_a_signed_audit_is_an_in_toto_statement_of_the_head(results: Results) -> None:
    """It says that the service signed nothing."""
    audit = audit_store(results)

    name = sign_audit(results.store, audit, KEY, NOW)

    envelope = json.loads(results.store.read(name) or b"")
    statement = json.loads(base64.b64decode(envelope["payload"]))
    kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)  # by the specification of DSSE
    KEY.public_key().verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
    assert statement["subject"] == [{"name": "head", "digest": {"sha256": audit.head}}]
    assert statement["predicate"]["checked"]["rows"] == 13
    assert "signed nothing" in statement["predicate"]["says"]
    assert wrong(results) == []


def test_the_store_may_grow_after_a_signature_and_not_change(results: Results, root: Path) -> None:
    """A receipt that was rewritten does not have the signed digest."""
    sign_audit(results.store, audit_store(results), KEY, NOW)
    plan = planned(results, "20261103T120000Z_000aa", "q")
    end_leg(results, plan, "q", [0])
    assert wrong(results) == []

    path = root / f"_runs/{NEWEST}/legs/001/receipt.json"
    path.write_text(path.read_text() + "\n")
    assert any(each.startswith("head ") for each in wrong(results))


def test_another_key_and_a_changed_statement_are_found(results: Results) -> None:
    """So is a store without any signed audit."""
    assert wrong(results) == ["_signed holds no signed audit to check with this key"]

    name = sign_audit(results.store, audit_store(results), KEY, NOW)
    assert wrong(results, Ed25519PrivateKey.generate()) == [
        f"{name} was changed, or was signed with another key than the one given"
    ]

    envelope = json.loads(results.store.read(name) or b"")
    payload = base64.b64decode(envelope["payload"]).replace(b'"rows": 13', b'"rows": 99')
    for content in ({**envelope, "payload": base64.b64encode(payload).decode()}, {}, [], "x"):
        results.store.replace(name, json.dumps(content).encode())
        assert wrong(results) == [f"{name} was changed, or was signed with another key than the one given"]


def test_what_is_wrong_is_not_signed(results: Results, root: Path) -> None:
    """Nor a store without receipts."""
    (root / f"_runs/{NEWEST}/plan.json").unlink()

    with pytest.raises(UsageError, match=r"^Nothing was signed"):
        sign_audit(results.store, audit_store(results), KEY, NOW)


def test_keys_are_read_from_pem_files(tmp_path: Path) -> None:
    """Another kind of key, another file or none is one line."""
    path = tmp_path / "key.pem"
    path.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert private_key(path).private_bytes_raw() == KEY.private_bytes_raw()
    path.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert public_key(path).public_bytes_raw() == KEY.public_key().public_bytes_raw()
    with pytest.raises(UsageError, match=r"is no Ed25519 private key"):
        private_key(path)

    other = generate_private_key(SECP256R1())
    path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for wrong_file in (path, tmp_path / "none", tmp_path):
        with pytest.raises(UsageError, match=r"is no Ed25519 private key"):
            private_key(wrong_file)
        with pytest.raises(UsageError, match=r"is no Ed25519 public key"):
            public_key(wrong_file)
