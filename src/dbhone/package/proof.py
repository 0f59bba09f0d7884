"""The proof in a package: in-toto statements about its files, signed or named unsigned.

Statements (in-toto Statement v1) have all the package's files for their subjects: where they come
from (SLSA provenance v1), what verifying them found, what measuring them found, and whether a
second build of the same inputs had the same files. Signed, each is a DSSE envelope; they stand as a
bundle, an envelope on a line.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from dbhone.errors import PackageError, UsageError
from dbhone.package.archive import Entry, json_bytes
from dbhone.untrusted_files import LIMIT

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
VERIFICATION = "urn:dbhone:verification:v1"
MEASUREMENT = "urn:dbhone:measurement:v1"
REPRODUCTION = "urn:dbhone:reproduction:v1"
SIGNED, UNSIGNED = "proof/statements.dsse.jsonl", "proof/statements.unsigned.jsonl"
KEY = "proof/key.pem"
_PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key, as what signs with it, and its public key in PEM."""

    signer: CryptoSigner
    public: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements of a package by their types, and the id of the key that signed them.

    ``subjects`` has the digest and the kind of each file. ``file`` is the proof's own, which they
    do not speak of.
    """

    predicates: dict[str, dict[str, Any]]
    subjects: dict[str, tuple[str, str]]
    key: str | None
    file: str


def statement(kind: str, predicate: dict[str, Any], files: Iterable[Entry]) -> dict[str, Any]:
    """Return an in-toto statement about files."""
    return {
        "_type": STATEMENT,
        "subject": [
            {
                "name": entry.name,
                "digest": {"sha256": entry.digest},
                "annotations": {"kind": entry.kind},
            }
            for entry in sorted(files, key=lambda entry: entry.name)
        ],
        "predicateType": kind,
        "predicate": predicate,
    }


def identity(name: str, moment: int, kinds: Iterable[str]) -> dict[str, Any]:
    """Return what the provenance says of the package as a whole, so that it is signed, too.

    That is the name of its folder, the time of its files, and of which types its statements are.
    """
    return {"name": name, "moment": moment, "statements": sorted(kinds)}


def write_proof(statements: Sequence[dict[str, Any]], key: SigningKey | None) -> Entry:
    """Return the file with the statements, signed if there is a key."""
    payloads = [json_bytes(each) for each in statements]
    if key is None:
        return Entry(name=UNSIGNED, data=b"".join(payload + b"\n" for payload in payloads))
    lines = []
    for payload in payloads:
        envelope = Envelope(payload, _PAYLOAD_TYPE, {})
        envelope.sign(key.signer)
        lines.append(json_bytes(envelope.to_dict()) + b"\n")
    return Entry(name=SIGNED, data=b"".join(lines))


def key_entry(key: SigningKey) -> Entry:
    """Return the file with the public key, for whoever does not have it yet."""
    return Entry(name=KEY, data=key.public)


def read_proof(entries: dict[str, Entry], trusted: SSlibKey | None) -> Statements:
    """Return a package's statements; of a signed one every signature is verified.

    ``trusted`` is the key that must have signed; without one, the package's own public key only
    shows that nothing was altered by who does not have the private one. Raises PackageError.
    """
    signed = SIGNED in entries
    if not signed and UNSIGNED not in entries:
        raise PackageError("the package holds no proof")
    if not signed and trusted is not None:
        raise PackageError("the package is not signed, but a key was given")
    key = trusted or (_own_key(entries) if signed else None)
    proof = entries[SIGNED if signed else UNSIGNED]
    if proof.kind != "file":
        raise PackageError(f"{proof.name} of the package is a {proof.kind}, not an ordinary file")
    lines = proof.data.splitlines()
    payloads = [_verified(line, key) if key is not None else line for line in lines]
    statements = [_parsed(payload) for payload in payloads]
    subjects = [_subjects(each) for each in statements]
    if not statements or any(each != subjects[0] for each in subjects):
        raise PackageError("the package's statements are not about the same files")
    predicates = {str(each["predicateType"]): each["predicate"] for each in statements}
    if len(predicates) != len(statements):
        raise PackageError("the package has two statements of one type")
    return Statements(
        predicates=predicates,
        subjects=subjects[0],
        key=key.keyid if key is not None else None,
        file=proof.name,
    )


def read_signing_key(path: Path) -> SigningKey:
    """Return the private Ed25519 key in a PEM file.

    Raises UsageError for a file that others can read, or that holds no such key.
    """
    text = _key_file(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise UsageError(
            f"others can read the signing key {path}",
            hint=f"make another and keep it to yourself: chmod 600 {path} comes too late",
        )
    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"{path} holds no private Ed25519 key without a password, in PEM",
            hint=f"make one: (umask 077; openssl genpkey -algorithm ed25519 -out {path})",
        )
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return SigningKey(signer=CryptoSigner(key), public=public)


def read_public_key(path: Path) -> SSlibKey:
    """Return the public Ed25519 key in a PEM file. Raises UsageError for another file."""
    key = _public_key(_key_file(path))
    if key is None:
        raise UsageError(
            f"{path} holds no public Ed25519 key in PEM",
            hint="of a private key: openssl pkey -in KEY -pubout",
        )
    return key


def _key_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LIMIT)
    except OSError as error:
        raise UsageError(f"cannot read the key {path}: {error.strerror}") from error


def _own_key(entries: dict[str, Entry]) -> SSlibKey:
    if KEY not in entries:
        raise PackageError("the package is signed but holds no public key")
    key = _public_key(entries[KEY].data)
    if key is None:
        raise PackageError("the package's public key is malformed")
    return key


def _public_key(text: bytes) -> SSlibKey | None:
    """Return the key in PEM, with an id that is computed of it; None for another text."""
    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return SSlibKey.from_crypto(key) if isinstance(key, Ed25519PublicKey) else None


def _verified(line: bytes, key: SSlibKey) -> bytes:
    """Return the payload of an envelope that the key has signed. Raises PackageError."""
    try:
        envelope = Envelope.from_dict(json.loads(line))
        envelope.verify([key], 1)
        if envelope.payload_type != _PAYLOAD_TYPE or len(envelope.signatures) != 1:
            raise PackageError("the package's statements are malformed")
        if json_bytes(envelope.to_dict()) != line:
            raise PackageError("the package's statements are not in hone's own form")
        payload: bytes = envelope.payload
    except VerificationError as error:
        raise PackageError(
            f"the package's signature is not by the key {key.keyid[:16]}", hint="do not use it"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PackageError("the package's statements are malformed") from error
    return payload


def _parsed(payload: bytes) -> dict[str, Any]:
    try:
        values: dict[str, Any] = json.loads(payload)
        if values["_type"] != STATEMENT or not isinstance(values["predicate"], dict):
            raise ValueError("type")
        str(values["predicateType"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PackageError("the package's statements are malformed") from error
    return values


def _subjects(statement: dict[str, Any]) -> dict[str, tuple[str, str]]:
    try:
        return {
            str(each["name"]): (str(each["digest"]["sha256"]), str(each["annotations"]["kind"]))
            for each in statement["subject"]
        }
    except (KeyError, TypeError) as error:
        raise PackageError("the package's statements are malformed") from error
