"""OCI images: a layout's files, and what is in them, with every digest compared.

The layout is that of the OCI Image Format Specification 1.1; ``manifest.json`` beside it is for
versions of docker that know no layouts. An image has three layers: the distribution's base, the
server's account, and the package below ``/opt``. Layers are not compressed, because the file as a
whole is: whoever has the same layers makes the same file.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dbhone.errors import PackageError
from dbhone.package.archive import Entry, json_bytes, read_tar, tar_of

DATA = "/data"
"""Where an image's server has its data: a volume."""
ACCOUNT = 999
"""The user and the group that the server runs as, as in the projects' own images."""
ARCHITECTURES = {"x64, 64 bits": "amd64", "AArch64, 64 bits": "arm64"}
"""The names that images have for processors, by those in ELF files."""
_OPT = "opt"
_BLOBS = "blobs/sha256"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
_MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_INDEX_TYPE = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image has besides a package: layers as tars, and how its server is started.

    ``config`` is the specification's object of this name. ``packages`` are those of the
    distribution in ``base``, with their versions.
    """

    base: bytes
    account: bytes
    config: Mapping[str, Any]
    machine: str
    packages: tuple[str, ...] = ()

    @property
    def stated(self) -> dict[str, Any]:
        """What a package's statements say of its image."""
        return {
            "base": _digest(self.base),
            "account": _digest(self.account),
            "config": dict(self.config),
            "machine": self.machine,
        }


def prefix_of(package: str) -> str:
    """Return the folder of a package in its image."""
    return f"/{_OPT}/{package}"


def account_layer(base: bytes, name: str, moment: int) -> bytes:
    """Return the layer with the server's account, which may write the folder of its data only.

    Raises PackageError for a base without /etc/passwd, or that has another account of its number.
    """
    line = f"{name}:x:{ACCOUNT}:"
    passwd = _with_line(base, "etc/passwd", f"{line}{ACCOUNT}::{DATA}:/usr/sbin/nologin\n")
    group = _with_line(base, "etc/group", f"{line}\n")
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as tar:
        folder = tarfile.TarInfo(DATA.removeprefix("/"))
        folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o700, moment
        folder.uid = folder.gid = ACCOUNT
        tar.addfile(folder)
        for path, data in (("etc/group", group), ("etc/passwd", passwd)):
            info = tarfile.TarInfo(path)
            info.mode, info.mtime, info.size = 0o644, moment, len(data)
            tar.addfile(info, io.BytesIO(data))
    return text.getvalue()


def _with_line(base: bytes, name: str, line: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(base), mode="r:") as tar:
        member = next((info for info in tar if info.name.removeprefix("./") == name), None)
        file = tar.extractfile(member) if member is not None else None
        data = file.read() if file is not None else b""
    if not data:
        raise PackageError(f"the image's base has no /{name} to which an account can be added")
    for words in (each.split(b":") for each in data.splitlines()):
        if words[2:3] == [str(ACCOUNT).encode()]:
            raise PackageError(
                f"in /{name} of the image's base '{words[0].decode(errors='replace')}' has the id"
                f" {ACCOUNT}, which the server would get"
            )
    return data + line.encode()


def layout(image: Image, package: tuple[Entry, ...], name: str, moment: int) -> tuple[Entry, ...]:
    """Return the files of the image with a package; all of them have the time ``moment``."""
    return _layout(image, tar_of(package, f"{_OPT}/{name}", moment), name, moment)


def _layout(image: Image, package: bytes, name: str, moment: int) -> tuple[Entry, ...]:
    created = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = (image.base, image.account, package)
    config = json_bytes(
        {
            "architecture": ARCHITECTURES[image.machine],
            "config": dict(image.config),
            "created": created,
            "history": [{"created": created, "created_by": "hone package"} for _ in layers],
            "os": "linux",
            "rootfs": {"diff_ids": [_digest(layer) for layer in layers], "type": "layers"},
        }
    )
    manifest = json_bytes(
        {
            "config": _descriptor(config, _CONFIG_TYPE),
            "layers": [_descriptor(layer, _LAYER_TYPE) for layer in layers],
            "mediaType": _MANIFEST_TYPE,
            "schemaVersion": 2,
        }
    )
    # The names of images lack some letters that versions and variants have.
    tag = f"{name.lower().replace('+', '-')}:latest"
    described = {
        **_descriptor(manifest, _MANIFEST_TYPE),
        "annotations": {
            "io.containerd.image.name": f"localhost/{tag}",
            "org.opencontainers.image.ref.name": "latest",
        },
    }
    index = {"manifests": [described], "mediaType": _INDEX_TYPE, "schemaVersion": 2}
    of_docker = {
        "Config": _blob(config),
        "Layers": [_blob(layer) for layer in layers],
        "RepoTags": [f"localhost/{tag}"],
    }
    blobs = {_blob(data): data for data in (*layers, config, manifest)}
    return (
        *(Entry(name=path, data=data) for path, data in blobs.items()),
        Entry(name="index.json", data=json_bytes(index)),
        Entry(name="manifest.json", data=json_bytes([of_docker])),
        Entry(name="oci-layout", data=json_bytes({"imageLayoutVersion": "1.0.0"})),
    )


def read_layout(files: tuple[Entry, ...]) -> tuple[str, int, tuple[Entry, ...], Image]:
    """Return the package in an image: its name, time and entries; and what else the image has.

    Raises PackageError unless every byte is what hone writes for these layers.
    """
    found = {entry.name: entry.data for entry in files}
    try:
        (described,) = json.loads(found["index.json"])["manifests"]
        manifest = json.loads(_of(found, described))
        base, account, package = (_of(found, layer) for layer in manifest["layers"])
        config = json.loads(_of(found, manifest["config"]))
        name, moment, entries = read_tar(package, depth=2)
        machines = {oci: machine for machine, oci in ARCHITECTURES.items()}
        image = Image(
            base=base,
            account=account,
            config=dict(config["config"]),
            machine=machines[config["architecture"]],
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise PackageError("the package holds an image that is not in hone's own form") from error
    name = name.removeprefix(f"{_OPT}/")
    written = _layout(image, package, name, moment)
    if {entry.name: entry.data for entry in written} != found or len(found) != len(files):
        raise PackageError("the package holds an image that is not in hone's own form")
    return name, moment, entries, image


def _of(files: Mapping[str, bytes], descriptor: Mapping[str, Any]) -> bytes:
    return files[f"{_BLOBS}/{str(descriptor['digest']).removeprefix('sha256:')}"]


def _descriptor(data: bytes, media_type: str) -> dict[str, Any]:
    return {"digest": _digest(data), "mediaType": media_type, "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _blob(data: bytes) -> str:
    return f"{_BLOBS}/{_digest(data).removeprefix('sha256:')}"
