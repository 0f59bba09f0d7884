"""A machine with a distribution whose programs only write down what they are told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dbhone.dbms._postgresql_service import SERVICE
from dbhone.dbms.postgresql import PLUGIN
from tests.files import put, put_program

OLD, NEW = "15.18-1", "15.18-1+hone1"
_INSTANCES = "dbhone.package.service_instances"
SERVER, LANGUAGE = "postgresql-15", "postgresql-pltcl-15"


class Machine:
    """A machine with one package installed, and one cluster that runs.

    A cluster comes up unless the installed version is the ``spoiled`` one. apt does what
    ``simulated`` says that it would, besides. It replaces the server's ``program``, which the
    cluster goes on to execute until it is restarted. A package file says what its digests are.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.bin, self.program = root, root / "bin", put(root / "postgres")
        (root / "data").mkdir(parents=True)
        (root / "data" / "PG_VERSION").write_text("15\n")
        (root / "data" / "postmaster.pid").write_text("1234\nmore\n")
        (root / "versions").mkdir()
        (root / "digests").mkdir()
        self.executed_by(1234)
        self.set_version(OLD)
        self.spoiled("none")
        self.simulated("")
        version = root / "versions" / SERVER
        programs = {
            "dpkg-deb": '[ "$1" = --info ] && exec sed -n "s/Digests: //p" "$2"; cat "$2"',
            "dpkg-query": f"""cd {root}/versions
                [ "$1" = --control-show ] && exec cat {root}/digests/"$2"
                [ $# = 2 ] && exec cat {root}/states
                [ -e "$3" ] || exit
                echo "another-one installed 1.0"
                echo "$(dpkg --print-architecture) installed $(cat "$3")"
            """,
            "apt-get": f"""
                case "$*" in
                *download*|*--allow-change-held-packages*) ;;
                *) [ -s {root}/held ] && echo "E: Held packages were changed" && exit 100;;
                esac
                case "$*" in *--simulate*) cat {root}/simulated; exit;; esac
                echo "$@" >> {root}/told
                case "$*" in *--allow-change-held-packages*) : > {root}/held;; esac
                echo "needrestart: $NEEDRESTART_SUSPEND" > {root}/needrestart
                [ "$1" = download ] && echo "Package: ${{2%%=*}}
Version: ${{2##*=}}" > "${{2%%=*}}.deb" && exit
                for word; do case "$word" in *.deb)
                    name=$(sed -n 's/Package: //p' "$word")
                    sed -n 's/Version: //p' "$word" > {root}/versions/"$name"
                    sed -n 's/Digests: //p' "$word" > {root}/digests/"$name"
                    [ "$name" = {SERVER} ] && for process in {root}/proc/*; do
                        ln -sfn "{self.program} (deleted)" "$process/exe"
                    done
                    [ -e {root}/breaks ] && exit 100;;
                esac; done
                [ -e {root}/fails ] || exit 0
                echo "E: Sub-process /usr/bin/dpkg returned an error code (1)"; exit 100""",
            "apt-mark": f"""
                case "$1" in
                showhold) cat {root}/held;;
                hold) shift; printf '%s\\n' "$@" >> {root}/held;;
                esac""",
            "pg_lsclusters": f"cat {root}/clusters",
            "pg_ctlcluster": f"""
                echo "$@" >> {root}/told; ln -sfn {self.program} {root}/proc/1234/exe""",
            "pg_isready": f"""
                [ -z "$PGPORT" ] || exit 3
                [ -s {root}/answers ] || {{ cmp -s {version} {root}/spoiled && exit 2; exit 0; }}
                read -r answer < {root}/answers
                [ "$(wc -l < {root}/answers)" = 1 ] || sed -i 1d {root}/answers
                exit $answer""",
        }
        for name in ("held", "states"):
            (root / name).touch()
        self.clusters(f"15 main 5432 online postgres {root}/data /log")
        for name, script in programs.items():
            put_program(self.bin / name, script)
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.setattr("dbhone.package.installing.os.geteuid", lambda: 0)
        service = dataclasses.replace(SERVICE, program=str(self.program))
        monkeypatch.setattr(PLUGIN, "service", service)
        monkeypatch.setattr(f"{_INSTANCES}._SYSTEMD", root / "no-systemd")
        monkeypatch.setattr(f"{_INSTANCES}._PROC", root / "proc")
        monkeypatch.setattr(f"{_INSTANCES}.sleep", lambda _: None)
        monkeypatch.setattr(f"{_INSTANCES}._SILENCE", 3)
        monkeypatch.setattr(f"{_INSTANCES}._RECOVERY", 6)

    def executed_by(self, pid: int) -> None:
        """Have a process execute the server's program."""
        link = self.root / "proc" / str(pid) / "exe"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(self.program)

    def clusters(self, *lines: str) -> None:
        (self.root / "clusters").write_text("\n".join(lines) + "\n")

    def answers(self, *statuses: int) -> None:
        """Have pg_isready end with these exit codes, one after the other; the last one stays."""
        (self.root / "answers").write_text("".join(f"{status}\n" for status in statuses))

    def set_version(self, version: str, package: str = SERVER) -> None:
        (self.root / "versions" / package).write_text(f"{version}\n")

    def simulated(self, printed: str) -> None:
        (self.root / "simulated").write_text(printed)

    def breaks(self, *, after_the_first_package: bool) -> None:
        """Have apt fail after the first package, or at once never again."""
        path = self.root / "breaks"
        if after_the_first_package:
            path.touch()
        else:
            path.unlink()

    def spoiled(self, version: str) -> None:
        (self.root / "spoiled").write_text(f"{version}\n")

    @property
    def version(self) -> str:
        return self.version_of(SERVER)

    def version_of(self, package: str) -> str:
        return (self.root / "versions" / package).read_text().strip()

    @property
    def told(self) -> str:
        return (self.root / "told").read_text()
