"""A pretended mvn: knows the two goals that dbhone asks for, and speaks as mvn 3.8 does.

Its repository is the folder next to it, with a file for each artifact; its settings are files
there too: ``says`` is an error to end with. Each call is a line in ``calls``.
"""

import shutil
import sys
from pathlib import Path

HOME = Path(__file__).parent / "repository"
RESET = "\x1b[0m\x1b[0m"


def fail(reason: str) -> None:
    goal = "org.apache.maven.plugins:maven-dependency-plugin:1:copy (default-cli)"
    sys.stdout.write(
        f"{RESET}[ERROR] Failed to execute goal {goal} on project standalone-pom: "
        f"Unable to find/resolve artifact. {reason} -> [Help 1]\n"
        "[ERROR] \n[ERROR] To see the full stack trace of the errors, re-run Maven with -e.\n"
    )
    sys.exit(1)


def main() -> None:
    with (HOME / "calls").open("a") as calls:
        calls.write(" ".join(sys.argv[1:]) + "\n")
    values = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("-D"))
    local = Path(values["maven.repo.local"])
    group, artifact, version, extension, *classifier = values["artifact"].split(":")
    (local / "plugin").mkdir(parents=True, exist_ok=True)
    if version == "LATEST":
        metadata = HOME / f"{artifact}.xml"
        if not metadata.exists():
            fail(f"Could not find metadata {group}:{artifact}/maven-metadata.xml in central")
        folder = local.joinpath(*group.split("."), artifact)
        folder.mkdir(parents=True)
        shutil.copy(metadata, folder / "maven-metadata-central.xml")
        return
    if (HOME / "says").exists():
        fail((HOME / "says").read_text())
    name = f"{artifact}-{'-'.join((version, *classifier))}.{extension}"
    if not (HOME / name).exists():
        words = ":".join((group, artifact, extension, *classifier, version))
        fail(f"Could not find artifact {words} in central (https://h.example/maven2)")
    folder = local.joinpath(*group.split("."), artifact, version)
    folder.mkdir(parents=True)
    shutil.copy(HOME / name, folder)
    Path(values["outputDirectory"]).mkdir(exist_ok=True)
    shutil.copy(HOME / name, Path(values["outputDirectory"], name))


main()
