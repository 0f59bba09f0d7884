"""Repositories of git that tests make."""

from __future__ import annotations

from pathlib import Path

from dbhone.command import Command
from dbhone.process import run

WHO = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}


class Repository:
    """A git repository on this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        argv = ("git", "-c", "protocol.file.allow=always", *words)
        finished = run(Command(argv=argv, cwd=self.root, env=WHO))
        assert finished.ok, finished.text()
        return finished.text().strip()

    def commit(self, content: str) -> str:
        """Commit a file with this content; return the commit."""
        (self.root / "file").write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", content)
        return self.git("rev-parse", "HEAD")
