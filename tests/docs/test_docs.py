"""The documents are as true as the code: what they show is tried."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from dbhone import registry
from dbhone.capture.capture import CaptureOptions, capture
from dbhone.cli.main import hone
from dbhone.compilation.transforms.base import DRAWER as TRANSFORMS
from dbhone.dbms.base import load_dbms, system_names
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.named_configs import config_names
from dbhone.experiment.declaration.schema import (
    BlocksSection,
    ConfigSection,
    DesignSection,
    ExperimentFile,
    HistorySection,
    ObserveSection,
    SubjectSection,
    TrainingSection,
    VerificationSection,
    WorkloadSection,
)
from dbhone.instance.levers.base import DRAWER as LEVERS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ANCHORED = re.compile(r"\]\(([^)#:]*)#([^)]+)\)")
MOST_LINES_OF_THE_README = 120
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GENERATED = re.compile(r"^<!-- begin: .*?^<!-- end: .*?$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#]+)(?:#[^)]*)?\)|!\[[^\]]*\]\(([^)]+)\)")


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        found += [
            (path.name, match.group(2))
            for match in BLOCK.finditer(text)
            if match.group(1) == language
        ]
    return found


def command_lines() -> list[tuple[str, str]]:
    """Return every ``hone`` command that a document shows, without its comment."""
    lines = []
    for language in ("console", "sh"):
        for name, block in blocks(language):
            for line in block.splitlines():
                # As in a shell, only what a space parts from a word is a comment.
                words = line.removeprefix("$ ").partition(" #")[0].strip()
                if words.startswith(("./hone ", "hone ")):
                    lines.append((name, words))
    return lines


@pytest.mark.parametrize(("document", "line"), command_lines())
def test_a_command_that_is_shown_can_be_typed(document: str, line: str) -> None:
    words = [each for each in shlex.split(line)[1:] if each != "…"]
    with click.Context(hone, info_name="hone") as context:
        if words[0].startswith("-"):
            return
        name, command, rest = hone.resolve_command(context, words)
        assert command is not None, f"{document}: {name}"
        command.make_context(name, list(rest), parent=context, resilient_parsing=False)


@pytest.mark.parametrize(
    "text", [block for _, block in blocks("toml") if block.startswith(("title", "#"))]
)
def test_an_experiment_that_is_shown_is_valid(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ROOT / "tests" / "golden" / "capture" / "postgresql-15-csvlog.csv"
    capture((log,), tmp_path / "shop.workload", CaptureOptions())
    (tmp_path / "shop.dump").write_text("-- what pg_dump made")
    monkeypatch.chdir(tmp_path)
    assert len(parse(text, name="shown.toml").subjects) >= 2


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for name in registry.names("dbhone.cli.commands"):
        assert f"`hone {name}" in text, name


def test_every_transform_is_documented() -> None:
    text = (ROOT / "docs" / "builds.md").read_text()
    for name in registry.names(TRANSFORMS):
        assert f"| `{name}` |" in text, name


def test_every_lever_is_documented() -> None:
    text = (ROOT / "docs" / "instances.md").read_text()
    for name in registry.names(LEVERS):
        assert f"`{name}`" in text or f"`{name}=" in text, name


def test_every_named_config_is_documented() -> None:
    text = (ROOT / "docs" / "instances.md").read_text()
    for name in config_names():
        assert f"| `{name}` |" in text, name


def test_every_key_of_an_experiment_is_documented() -> None:
    text = (ROOT / "docs" / "experiments.md").read_text()
    sections = (
        ExperimentFile,
        SubjectSection,
        TrainingSection,
        WorkloadSection,
        DesignSection,
        BlocksSection,
        ConfigSection,
        ObserveSection,
        HistorySection,
        VerificationSection,
    )
    for section in sections:
        for key in section.model_fields:
            assert re.search(rf"`?\[?\b{key}\b", text), key


def test_every_source_kind_and_report_format_is_documented() -> None:
    sources = (ROOT / "docs" / "sources.md").read_text()
    for name in registry.names("dbhone.source.kinds"):
        assert f"`{name}:" in sources, name
    reports = (ROOT / "docs" / "reports.md").read_text()
    for name in registry.names("dbhone.report.formats"):
        assert f"`{name}`" in reports, name


def test_every_dbms_whose_package_is_promised_may_be_passed_on() -> None:
    """The guide's table names a DBMS by its title; `hone package` needs its licence."""
    guide = (ROOT / "docs" / "guides" / "your-server.md").read_text(encoding="utf-8")
    table = guide.partition("## What can be deployed")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    systems = [load_dbms(name) for name in system_names()]
    promised = [dbms for dbms in systems if any(dbms.title in row for row in rows)]
    assert {dbms.name for dbms in promised} >= {"postgresql", "mariadb", "mysql", "sqlite"}
    assert [dbms.name for dbms in promised if dbms.licence is None] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for match in LINK.finditer(path.read_text(encoding="utf-8")):
        target = match.group(1) or match.group(2)
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target


def test_every_word_of_the_glossary_stands_in_the_code() -> None:
    files = sorted((ROOT / "src" / "dbhone").rglob("*.py"))
    modules = {path.stem for path in files}
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    classes = set(re.findall(r"^class (\w+)", source, re.MULTILINE))
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    names = re.findall(r"^\|.*\| `(\w+)` \|$", text, re.MULTILINE)
    assert len(names) > 40
    assert [name for name in names if name not in classes | modules] == []


def test_the_walk_through_a_run_names_what_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = re.findall(r"^\| \d+ \| `([\w/]+\.py)`: `(\w+)` \|", text, re.MULTILINE)
    assert 8 <= len(places) <= 12
    for file, name in places:
        source = (ROOT / "src" / "dbhone" / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(?:class|def) {name}\b", source, re.MULTILINE), f"{file}: {name}"


def test_lines_of_the_documents_are_short() -> None:
    for path in DOCUMENTS:
        text = GENERATED.sub("", BLOCK.sub("", path.read_text(encoding="utf-8")))
        for line in text.splitlines():
            free = line.startswith(("|", "![", "| ")) or ("](" in line and " " not in line.strip())
            assert free or len(line) <= 110, f"{path.name}: {line}"


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES_OF_THE_README


def anchors(path: Path) -> set[str]:
    """Return the anchors that a forge gives the headings of a document."""
    headings = re.findall(
        r"^#+ (.*)$", BLOCK.sub("", path.read_text(encoding="utf-8")), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_a_heading(path: Path) -> None:
    for target, anchor in ANCHORED.findall(path.read_text(encoding="utf-8")):
        document = path.parent / target if target else path
        assert document.suffix != ".md" or anchor in anchors(document), f"{target}#{anchor}"
