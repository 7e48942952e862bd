"""Certificate chains: a self-signed root and one leaf, which signs seals."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=3650)
_LEAF_USES = ("digital_signature",)
_ROOT_USES = ("key_cert_sign", "crl_sign")
_NO_USES = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
_USES = (*_LEAF_USES, *_ROOT_USES, *_NO_USES, "encipher_only", "decipher_only")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A leaf's private key and its certificates, leaf first, all as PEM."""

    key_pem: bytes
    chain_pem: bytes
    root_pem: bytes

    @classmethod
    def make(cls, common_name: str) -> Self:
        """Make a new root and, under it, a leaf named `common_name`."""
        root_key = Ed25519PrivateKey.generate()
        leaf_key = Ed25519PrivateKey.generate()
        root_name = f"{common_name} root"
        root = _certificate(root_name, root_name, root_key.public_key(), root_key)
        leaf = _certificate(common_name, root_name, leaf_key.public_key(), root_key)
        key_pem = leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return cls(key_pem=key_pem, chain_pem=leaf + root, root_pem=root)

    @classmethod
    def kept(cls, folder: Path, common_name: str) -> Self:
        """Return the chain in `folder`; create it on first use."""
        key = folder / f"{common_name}-key.pem"
        chain = folder / f"{common_name}-chain.pem"
        root = folder / f"{common_name}-root.pem"
        # If one is missing, all three are made anew: a process may have been killed between two of them.
        if not (key.exists() and chain.exists() and root.exists()):
            made = cls.make(common_name)
            for file, pem in ((key, made.key_pem), (chain, made.chain_pem), (root, made.root_pem)):
                file.touch(mode=0o600)
                file.write_bytes(pem)
        return cls(key_pem=key.read_bytes(), chain_pem=chain.read_bytes(), root_pem=root.read_bytes())

    @property
    def private_key(self) -> Ed25519PrivateKey:
        key = load_pem_private_key(self.key_pem, password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise TypeError("a sandbox signs with Ed25519 keys only")
        return key

    @property
    def fingerprint(self) -> str:
        """A short digest of the leaf's public key, lowercase hex."""
        raw = self.private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return hashlib.sha256(raw).hexdigest()[:16]


def _certificate(subject: str, issuer: str, key: Ed25519PublicKey, root_key: Ed25519PrivateKey) -> bytes:
    """Return a certificate as PEM."""
    is_root = key == root_key.public_key()
    granted = _ROOT_USES if is_root else _LEAF_USES
    usage = x509.KeyUsage(**{name: name in granted for name in _USES})
    yesterday = datetime.now(UTC) - timedelta(days=1)  # so that a machine with a slow clock accepts it
    builder = x509.CertificateBuilder(subject_name=_name(subject), issuer_name=_name(issuer), public_key=key)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(yesterday).not_valid_after(yesterday + _LIFETIME)
    # C2PA validators refuse a leaf without these extensions.
    key_identifier = x509.SubjectKeyIdentifier.from_public_key(key)
    constraints = x509.BasicConstraints(ca=is_root, path_length=None)
    builder = builder.add_extension(key_identifier, critical=False)
    builder = builder.add_extension(constraints, critical=True)
    builder = builder.add_extension(usage, critical=True)
    if not is_root:
        email = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
        builder = builder.add_extension(email, critical=False)
        builder = builder.add_extension(authority, critical=False)
    return builder.sign(root_key, None).public_bytes(Encoding.PEM)


def _name(common_name: str) -> x509.Name:
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Verification sandbox")
    common = x509.NameAttribute(NameOID.COMMON_NAME, common_name)
    return x509.Name([organization, common])
