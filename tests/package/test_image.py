"""Images for containers: what is in them, and that no byte of them can be another."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import platform
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import Installation, load_server_dbms
from dbhone.errors import PackageError
from dbhone.package.archive import Entry, pack, unpack
from dbhone.package.checking import check_package
from dbhone.package.content import Content
from dbhone.package.forms import oci
from dbhone.package.image import account_layer, layout, read_layout
from dbhone.package.packing import Draft
from tests.package.packages import base_with, image, package

IMAGE = image()
FILE = package(image=IMAGE)
LAYOUT = unpack(FILE)[2]


def blobs() -> dict[str, bytes]:
    return {entry.name: entry.data for entry in LAYOUT}


def test_a_package_in_an_image_is_checked_as_any_other() -> None:
    checked = check_package(FILE)
    assert (checked.name, checked.stated.outcome.grade) == ("server-1.0", "smoke")
    assert checked.found is not None
    assert checked.found["winner"] == "o3"


def test_everything_is_named_by_its_digest() -> None:
    for name, data in blobs().items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"
    (described,) = json.loads(blobs()["index.json"])["manifests"]
    manifest = json.loads(blobs()[f"blobs/sha256/{described['digest'][7:]}"])
    assert len(manifest["layers"]) == 3
    (of_docker,) = json.loads(blobs()["manifest.json"])
    assert of_docker["RepoTags"] == ["localhost/server-1.0:latest"]
    assert all(layer in blobs() for layer in of_docker["Layers"])


def test_the_server_has_an_account_and_a_folder_of_its_own() -> None:
    with tarfile.open(fileobj=io.BytesIO(IMAGE.account)) as tar:
        folder, passwd = tar.getmember("data"), tar.extractfile("etc/passwd")
        assert (folder.uid, folder.gid, folder.mode) == (999, 999, 0o700)
        assert passwd is not None
        assert passwd.read().decode() == (
            "root:x:0:0::/:/bin/sh\nserver:x:999:999::/data:/usr/sbin/nologin\n"
        )


USER, GROUP = "root:x:0:0::/:/bin/sh\n", "root:x:0:\n"


@pytest.mark.parametrize(
    ("passwd", "group", "says"),
    [
        (USER, None, "has no /etc/group to which an account can be added"),
        (None, GROUP, "has no /etc/passwd to which an account can be added"),
        (f"{USER}other:x:999:9::/:/bin/sh\n", GROUP, "in /etc/passwd .* 'other' has the id 999"),
        (USER, f"{GROUP}systemd:x:999:\n", "in /etc/group .* 'systemd' has the id 999"),
    ],
)
def test_a_base_to_which_no_account_can_be_added_is_refused(
    passwd: str | None, group: str | None, says: str
) -> None:
    files = {"./etc/passwd": passwd, "./etc/group": group}
    base = base_with({name: content for name, content in files.items() if content is not None})
    with pytest.raises(PackageError, match=says):
        account_layer(base, "server", 0)


@given(st.data())
def test_every_altered_byte_is_caught_though_the_seal_is_right(data: st.DataObject) -> None:
    at = data.draw(st.integers(min_value=0, max_value=len(LAYOUT) - 1))
    altered = bytearray(LAYOUT[at].data)
    altered[data.draw(st.integers(min_value=0, max_value=len(altered) - 1))] ^= 1
    files = list(LAYOUT)
    files[at] = dataclasses.replace(LAYOUT[at], data=bytes(altered))
    with pytest.raises(PackageError):
        check_package(pack(files, "", 0))


def test_a_file_that_belongs_to_no_image_is_caught() -> None:
    with pytest.raises(PackageError, match="not in hone's own form"):
        check_package(pack([*LAYOUT, Entry(name="blobs/sha256/0", data=b"x")], "", 0))


def test_an_image_around_another_base_or_start_is_caught_though_its_digests_are_right() -> None:
    """Whoever makes an image anew around a signed package cannot make it say so."""
    name, moment, entries, read = read_layout(LAYOUT)
    other_base = base_with({"./etc/passwd": "root::0:0::/:/bin/sh\n", "./etc/group": "x:x:0:\n"})
    for changed in (
        dataclasses.replace(read, base=other_base),
        dataclasses.replace(read, config={"Entrypoint": ["/bin/sh"]}),
        dataclasses.replace(read, account=base_with({"etc/passwd": ""})),
        dataclasses.replace(read, machine="AArch64, 64 bits"),
    ):
        with pytest.raises(PackageError, match="not the one that the package's statements"):
            check_package(pack(layout(changed, entries, name, moment), "", 0))


def test_a_library_is_of_the_package_for_this_processor() -> None:
    triplet = f"{platform.machine()}-linux-gnu"
    printed = (
        "lib32stdc++6: /usr/lib32/libstdc++.so.6\n"
        "libstdc++6-other-cross: /usr/other-linux-gnu/lib/libstdc++.so.6\n"
        f"libstdc++6:amd64: /usr/lib/{triplet}/libstdc++.so.6\n"
        "libown1:amd64: /usr/lib/own/libown.so.1\n"
        "dpkg-query: no path found matching pattern */libother.so.2\n"
    )
    assert oci._owners(printed) == {"libstdc++.so.6": "libstdc++6", "libown.so.1": "libown1"}


def test_a_server_in_an_image_has_a_locale_for_utf_8(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    dbms = load_server_dbms("mysql")
    assert dbms.licence is not None
    server = build.path("server")
    installation = Installation(dbms="mysql", version="8.0.39", prefix=build.folder, server=server)
    monkeypatch.setattr(oci, "installation_of", lambda *_: installation)
    content = Content(
        entries=(), masked=0, machine=IMAGE.machine, libraries=(), licence=dbms.licence
    )
    config = oci._config(dbms, Draft(name="server-1.0", build=build, content=content, moment=0))
    assert "LANG=C.UTF-8" in str(config["Env"])


def test_a_package_that_was_taken_out_of_its_image_is_caught() -> None:
    name, moment, entries, _ = read_layout(LAYOUT)
    with pytest.raises(PackageError, match="not the one that the package's statements"):
        check_package(pack(entries, name, moment))


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b'{"manifests": [{}]}', b"[" * 100_000])
def test_what_is_no_image_is_told(index: bytes) -> None:
    files = [entry for entry in LAYOUT if entry.name != "index.json"]
    with pytest.raises(PackageError, match="not in hone's own form"):
        check_package(pack([*files, Entry(name="index.json", data=index)], "", 0))
