"""Settings files of a user's own, named in an experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.dbms.base_settings import Origin
from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import load_file, parse
from tests.experiment.experiment_files import CONFIGURED, EMBEDDED, GOOD_SERVERS


def test_a_settings_file_is_looked_for_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\nmax_connections = 77\n")
    file = tmp_path / "x.toml"
    file.write_text(f'{CONFIGURED}file = "my.cnf"\nset = {{ sync_binlog = 1 }}\n')
    first, second, _ = load_file(file).subjects
    said = [(each.name, each.value, each.origin) for each in first.settings]
    assert said == [
        ("max_connections", "77", Origin.FILE),
        ("sync_binlog", "1", Origin.EXPERIMENT),
    ]
    assert second.settings[-1].value == "0"


def test_what_alter_system_wrote_beside_the_file_goes_before_it(tmp_path: Path) -> None:
    (tmp_path / "postgresql.conf").write_text("work_mem = 4MB\njit = off")
    (tmp_path / "postgresql.auto.conf").write_text("# Do not edit\nwork_mem = '64MB'\n")
    file = tmp_path / "x.toml"
    config = 'file = "postgresql.conf"\nset = {}\n'
    file.write_text(GOOD_SERVERS.partition("[config]")[0] + f"[config]\n{config}")
    settings = load_file(file).subjects[0].settings
    assert {each.name: each.value for each in settings} == {"work_mem": "64MB", "jit": "off"}
    (tmp_path / "postgresql.auto.conf").write_text("# Nothing yet\n")
    settings = load_file(file).subjects[0].settings
    assert {each.name: each.value for each in settings} == {"work_mem": "4MB", "jit": "off"}
    (tmp_path / "postgresql.auto.conf").write_text("# Do not edit\nwork_mem 64 MB\n")
    with pytest.raises(UsageError, match=r"postgresql\.auto\.conf, line 2: 'work_mem 64 MB'"):
        load_file(file)


def test_a_subject_s_own_setting_goes_before_the_config_s_however_it_is_spelled() -> None:
    text = CONFIGURED + 'set = { "sync-binlog" = 1, loose_sync_binlog = 2 }\n'
    first, second, _ = parse(text, name="x.toml").subjects
    assert [setting.name for setting in first.settings] == ["sync-binlog", "loose_sync_binlog"]
    assert [(setting.name, setting.value) for setting in second.settings] == [("sync_binlog", "0")]


@pytest.mark.parametrize(
    ("content", "said", "hint"),
    [
        (None, r"config\.file: .*my\.cnf cannot be read: No such", ""),
        (
            b"[mysqld]\n!include other.cnf\n",
            r"my\.cnf, line 2: .* includes another",
            "docs/guides/your-server.md",
        ),
        (b"[mysqld]\n", r"my\.cnf, in \[galera\], .*there is no setting", "ask the running server"),
        (b"\xff\xfe", "is not a text file", ""),
    ],
)
def test_one_that_cannot_be_followed_is_told(
    tmp_path: Path, content: bytes | None, said: str, hint: str
) -> None:
    if content is not None:
        (tmp_path / "my.cnf").write_bytes(content)
    file = tmp_path / "x.toml"
    file.write_text(f'{CONFIGURED}file = "my.cnf"\n')
    with pytest.raises(UsageError, match=said) as caught:
        load_file(file)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("asked", ['use = "kinoshita"', 'file = "my.cnf"', 'set = { a = "1" }'])
def test_an_embedded_dbms_has_no_settings(asked: str) -> None:
    with pytest.raises(UsageError, match="sqlite is not a server and has no settings"):
        parse(f"{EMBEDDED}[config]\n{asked}\n", name="x.toml")
