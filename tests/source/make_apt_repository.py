"""Makes ``apt_repository``, a tiny signed repository of packages. Run by hand, not in tests.

The signing key is made for it and thrown away: what is committed can be verified for ever, and
signed again by nobody. Usage: ``python tests/source/make_apt_repository.py`` (needs gpg, dpkg-dev).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dbhone.command import Command
from dbhone.files import digest_of_file
from dbhone.process import run

ROOT = Path(__file__).with_name("apt_repository")
SUITES = {
    "stable": (
        *(("tiny", "1.0"), ("tiny", "1.10"), ("tiny", "1.9"), ("other", "3")),
        *(("series-9", "9.1"), ("series-10", "10.1"), ("series-common", "1")),
    ),
    "stable-backports": (("tiny", "2.0~bpo1"), ("newcomer", "1")),
}
BINARIES = {
    "stable": (("tiny-server", "1.0"), ("tiny-server", "1.10"), ("tiny-common", "1.0")),
    "stable-backports": (("tiny-server", "2.0~bpo1"), ("tiny-plugin", "1")),
}
"""Each has a program in usr/sbin, a link to an absolute path, and a script that must not run."""
USER = "dbhone tests"
LONG_AGO = "20240101T000000"
"""When it was signed, so that it holds on machines whose clock is behind."""


def _run(*argv: str, cwd: Path, env: dict[str, str] | None = None) -> None:
    finished = run(Command(argv=argv, cwd=cwd, env=env))
    if not finished.ok:
        raise SystemExit(finished.text())


def _package(name: str, version: str, pool: Path, work: Path) -> str:
    """Make a native source package; return its stanza for the index."""
    tree = work / f"{name}-{version}"
    (tree / "debian" / "source").mkdir(parents=True)
    (tree / "debian" / "source" / "format").write_text("3.0 (native)\n")
    (tree / "debian" / "control").write_text(
        f"Source: {name}\nMaintainer: {USER} <tests@example.org>\nStandards-Version: 4.6.2\n\n"
        f"Package: lib{name}0\nArchitecture: all\nDescription: a package for tests\n"
    )
    (tree / "debian" / "changelog").write_text(
        f"{name} ({version}) stable; urgency=low\n\n  * For tests.\n\n"
        f" -- {USER} <tests@example.org>  Mon, 01 Jan 2024 00:00:00 +0000\n"
    )
    (tree / "main.c").write_text(f'const char *version = "{version}";\n')
    _run("dpkg-source", "--build", str(tree), cwd=pool)
    description = pool / f"{name}_{version}.dsc"
    fields = description.read_text().replace("Source:", "Package:", 1)
    keep, _, _ = fields.partition("Checksums-Sha1:")
    files = (description, pool / f"{name}_{version}.tar.xz")
    sums = "".join(f" {digest_of_file(f)} {f.stat().st_size} {f.name}\n" for f in files)
    return f"{keep}Directory: pool\nChecksums-Sha256:\n{sums}\n"


def _binary(name: str, version: str, pool: Path, work: Path) -> str:
    """Make a binary package; return its stanza for the index."""
    tree = work / f"{name}-{version}"
    files = {
        f"usr/sbin/{name}": f"#!/bin/sh\necho {version}\n",
        f"etc/{name}.conf": "",
        "DEBIAN/postinst": "#!/bin/sh\ntouch /dbhone-tests-were-here\n",
        "DEBIAN/control": (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
            f"Maintainer: {USER} <tests@example.org>\nDepends: nothing-like-this\n"
            "Description: a package for tests\n"
        ),
    }
    for path, content in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(content)
    for path in (f"usr/sbin/{name}", "DEBIAN/postinst"):
        (tree / path).chmod(0o755)
    link = tree / "usr" / "share" / name / "link"
    link.parent.mkdir(parents=True)
    link.symlink_to(f"/etc/{name}.conf")
    file = pool / f"{name}_{version}_all.deb"
    _run("dpkg-deb", "--root-owner-group", "--build", str(tree), str(file), cwd=work)
    fields = f"Filename: pool/{file.name}\nSize: {file.stat().st_size}\n"
    return f"{files['DEBIAN/control']}{fields}SHA256: {digest_of_file(file)}\n\n"


def _suite(name: str, sources: str, binaries: str) -> Path:
    folder = ROOT / "dists" / name
    listed = ""
    for path, index in (("source/Sources", sources), ("binary-all/Packages", binaries)):
        file = folder / "main" / path
        file.parent.mkdir(parents=True)
        file.write_text(index)
        listed += f" {digest_of_file(file)} {file.stat().st_size} main/{path}\n"
    extra = "NotAutomatic: yes\nButAutomaticUpgrades: yes\n" if "backports" in name else ""
    release = folder / "Release"
    release.write_text(
        f"Origin: dbhone\nSuite: {name}\nCodename: {name}\n{extra}"
        "Date: Mon, 01 Jan 2024 00:00:00 UTC\nArchitectures: all\nComponents: main\n"
        f"SHA256:\n{listed}"
    )
    return release


def main() -> None:
    """Make the repository anew."""
    shutil.rmtree(ROOT, ignore_errors=True)
    pool = ROOT / "pool"
    pool.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        gpg_home = {"GNUPGHOME": name}
        gpg = (
            *("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""),
            *("--faked-system-time", LONG_AGO),
        )
        _run(*gpg, "--quick-gen-key", USER, "ed25519", "sign", "never", cwd=work, env=gpg_home)
        key = ROOT / "signer.asc"
        _run(*gpg, "--armor", "--output", str(key), "--export", cwd=work, env=gpg_home)
        for suite, packages in SUITES.items():
            sources = "".join(_package(*package, pool, work) for package in packages)
            binaries = "".join(_binary(*package, pool, work) for package in BINARIES[suite])
            release = _suite(suite, sources, binaries)
            signed = str(release.with_name("InRelease"))
            sign = ("--digest-algo", "SHA512", "--clear-sign", "--output", signed, str(release))
            _run(*gpg, *sign, cwd=work, env=gpg_home)
            release.unlink()
        _run("gpgconf", "--kill", "all", cwd=work, env=gpg_home)


if __name__ == "__main__":
    main()
