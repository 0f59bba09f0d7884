"""A package that is small enough to be altered everywhere, with samples of two subjects."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Group, Step
from dbhone.measurement.sample_array import SampleArray
from dbhone.package.archive import Entry, pack
from dbhone.package.image import Image, account_layer, layout
from dbhone.package.measurement import Measured, findings, of_csv, to_csv
from dbhone.package.packing import SAMPLES
from dbhone.package.proof import (
    MEASUREMENT,
    PROVENANCE,
    REPRODUCTION,
    VERIFICATION,
    SigningKey,
    identity,
    key_entry,
    statement,
    write_proof,
)
from dbhone.source.elf import machine_here
from dbhone.verification.outcome import Evidence, Grade, ListComparison, Outcome
from tests.source.make_archives import tarred

NAME = "server-1.0"
STEPS = tuple(
    Step(set=name, key="", title=name, group=Group.POINT, in_sample=False, threads=1)
    for name in ("point", "range")
)
MEASURED = Measured(base="rel", controls=("control",), candidates=("o3",), steps=STEPS)

BUILD: dict[str, Any] = {
    "buildDefinition": {
        "externalParameters": {
            "dbms": "sqlite",
            "version": "3.40.1",
            "variant": "o3",
            "packaging": None,
        },
        "internalParameters": {
            "compile_flags": ["-O3"],
            "link_flags": [],
            "system_libraries": ["libc.so.6"],
            "machine": machine_here(),
            "native_cpu_flags": [],
            "glibc": None,
            "lacks": ["TLS", "JIT"],
        },
    },
    "runDetails": {"metadata": {"invocationId": "0123"}},
}
OUTCOME = Outcome(
    grade=Grade.SMOKE,
    build="0123",
    base="4567",
    lists=(
        ListComparison(
            check="testrunner",
            list="veryquick",
            evidence=Evidence.FLAGS,
            tests=100,
            proving=99,
            base_failures=("select1.test",),
            undecided=(),
            failures=(),
            seconds=12.0,
        ),
    ),
    finished_at=datetime(2026, 11, 24, tzinfo=UTC),
)


def samples(speedup: float = 1.2) -> SampleArray:
    """Return eight blocks in which o3 is so many times as fast as the base."""
    random = np.random.default_rng(7)
    noise = random.normal(0, 0.01, size=(3, 2, 1, 8))
    levels = np.array([1.0, 1.0, speedup]).reshape(3, 1, 1, 1)
    return SampleArray(
        subjects=("rel", "control", "o3"),
        steps=("point", "range"),
        metrics=(THROUGHPUT.name,),
        blocks=np.arange(8, dtype=np.int32),
        values=1000 * levels * np.exp(noise),
        within=np.where(np.arange(48).reshape(3, 2, 8) % 5, 1e-4, np.nan),
    )


def measurement(array: SampleArray) -> dict[str, Any]:
    found = findings(MEASURED, of_csv(to_csv(array)))
    return {
        "subject": "o3",
        "build": "0123",
        "measured": MEASURED.to_json(),
        "experiment": {"private": "its workload is its user's own"},
        "found": found,
    }


def files(array: SampleArray) -> list[Entry]:
    return [
        Entry(name="bin/server", data=b"\x7fELF...", executable=True),
        Entry(name="licences/COPYING", data=b"free\n"),
        Entry(name=SAMPLES, data=to_csv(array)),
    ]


def package(
    key: SigningKey | None = None,
    *,
    array: SampleArray | None = None,
    said: dict[str, Any] | None = None,
    outcome: Outcome = OUTCOME,
    image: Image | None = None,
    differing: list[str] | None = None,
    glibc: str | None = None,
    variant: str | None = None,
    native_cpu_flags: list[str] | None = None,
    system_libraries: list[str] | None = None,
) -> bytes:
    array = array or samples()
    build = copy.deepcopy(BUILD)
    if glibc is not None:
        build["buildDefinition"]["internalParameters"]["glibc"] = glibc
    if system_libraries is not None:
        build["buildDefinition"]["internalParameters"]["system_libraries"] = system_libraries
    if variant is not None:
        build["buildDefinition"]["externalParameters"]["variant"] = variant
    if native_cpu_flags is not None:
        build["buildDefinition"]["internalParameters"]["native_cpu_flags"] = native_cpu_flags
    if image is not None:
        build["buildDefinition"]["internalParameters"]["image"] = image.stated
    entries = files(array)
    if key is not None:
        entries.append(key_entry(key))
    predicates = {
        PROVENANCE: build,
        VERIFICATION: {**outcome.model_dump(mode="json"), "passed": True},
        MEASUREMENT: said or measurement(array),
    }
    if differing is not None:
        predicates[REPRODUCTION] = {"differing": differing}
    build["buildDefinition"]["internalParameters"]["package"] = identity(NAME, 0, predicates)
    statements = [statement(kind, said, entries) for kind, said in predicates.items()]
    entries.append(write_proof(statements, key))
    if image is not None:
        return pack(layout(image, tuple(entries), NAME, 0), "", 0)
    return pack(entries, NAME, 0)


def image(base: bytes | None = None, **config: Any) -> Image:
    """Return an image on a base of two files."""
    base = base or base_with(
        {"./etc/passwd": "root:x:0:0::/:/bin/sh\n", "./etc/group": "root:x:0:\n"}
    )
    return Image(
        base=base,
        account=account_layer(base, "server", 0),
        config={"Entrypoint": ["/opt/server-1.0/bin/server"], **config},
        machine="x64, 64 bits",
    )


def base_with(files: dict[str, str]) -> bytes:
    return tarred({name: content.encode() for name, content in files.items()})


def write_keys(folder: Path) -> tuple[Path, Path]:
    """Write a new pair of keys; return the files of the private and the public one."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / "key.pem", folder / "key.pub.pem"
    private.touch(mode=0o600)
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public
