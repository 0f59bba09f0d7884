"""Runs the programs that read counters: gcov-dump, llvm-profdata and merge-fdata.

They parse what a stranger's program wrote, so they are shut in as the compiler is that reads the
same profile.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.account import own, take_back
from dbhone.command import Command
from dbhone.errors import ProfileError
from dbhone.files import open_to_all
from dbhone.program_folders import program_folders
from dbhone.sandbox import Sandbox, longest_file
from dbhone.session import Session
from dbhone.tenant import tenancy
from dbhone.untrusted_files import open_untrusted

MERGED = "merged"
"""The stem of a file that counters are merged into."""
_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterTool:
    """A ``program`` that reads the counters in ``folder``, whose programs have ended.

    It runs in the folder, and reads the files and folders ``given`` besides.
    """

    program: Path
    folder: Path
    session: Session
    given: tuple[Path, ...] = ()

    def printed(self, *words: str) -> Generator[str, None, None]:
        """Yield the lines that it prints: gigabytes for a large server.

        Raises ProfileError if it fails.
        """
        yield from self._lines(words, ())

    def merged(self, ending: str, *words: str) -> Path:
        """Return the file that it makes, in a new folder.

        Raises ProfileError if it fails.
        """
        folder = self.session.workdir("profile")
        file = folder / f"{MERGED}.{ending}"
        for _ in self._lines((*words, f"-o={file}"), (folder,)):
            pass
        open_untrusted(file).close()
        take_back(folder)
        open_to_all(folder)
        return file

    def _lines(
        self, words: tuple[str, ...], writable: tuple[Path, ...]
    ) -> Generator[str, None, None]:
        with tenancy(self.session) as tenant:
            for folder in (self.folder, *writable):
                own(folder, tenant.account)
            command = Command(
                argv=(str(self.program), *words),
                cwd=self.folder,
                env={"LC_ALL": "C"},
                isolated=True,
                timeout=_TIMEOUT,
                tenant=tenant,
                sandbox=Sandbox(
                    writable=writable,
                    readable=(
                        self.folder,
                        *self.given,
                        *program_folders((self.program,), self.session.home),
                    ),
                    file_bytes=longest_file(self.folder),
                ),
            )
            finished = yield from process.lines(command)
        if not finished.ok:
            raise ProfileError(
                f"{self.program.name} cannot read the profile: it {finished.ending()}:"
                f" {finished.text().strip()[-200:]}"
            )
