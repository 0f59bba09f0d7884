"""A machine's package sources, pretended: a private apt configuration and signed repositories."""

from __future__ import annotations

import shutil
from pathlib import Path

SIGNED = Path(__file__).with_name("apt_repository")
"""Made by make_apt_repository.py. Suite stable has tiny 1.0, 1.9, 1.10, other 3, series-9,
series-10 and series-common; suite stable-backports, which is not taken from by itself, has tiny
2.0~bpo1 and newcomer 1."""


class Machine:
    """A machine's package sources: repositories in folders, and apt's configuration for them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = root / "parts"
        self.parts.mkdir(parents=True)
        self.configuration = root / "apt.conf"
        self.configuration.write_text(
            f'Dir::Etc::SourceList "{root}/sources.list";\n'
            f'Dir::Etc::SourceParts "{self.parts}";\n'
            f'APT::Update::Post-Invoke {{ "touch {root}/hooked"; }};\n'
        )

    def repository(self, name: str = "main") -> Path:
        """Add a signed repository as a package source; return its folder."""
        folder = self.root / name
        shutil.copytree(SIGNED, folder)
        (self.parts / f"{name}.sources").write_text(
            f"Types: deb\nURIs: file:{folder}\nSuites: stable stable-backports\n"
            f"Components: main\nSigned-By: {folder}/signer.asc\n"
        )
        return folder
