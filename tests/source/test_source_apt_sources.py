from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.source.kinds._apt_sources import PackageType, SourceEntry
from dbhone.source.kinds._apt_sources import read_list as read_list_for
from dbhone.source.kinds._apt_sources import read_sources as read_sources_for


def read_list(text: str) -> tuple[SourceEntry, ...]:
    return read_list_for(text, PackageType.SOURCE)


def read_sources(text: str) -> tuple[SourceEntry, ...]:
    return read_sources_for(text, PackageType.SOURCE)


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("deb http://h/debian stable main", "deb-src http://h/debian stable main\n"),
        ("deb-src http://h/debian stable main", "deb-src http://h/debian stable main\n"),
        ("  deb\thttp://h/d  stable\tmain contrib", "deb-src http://h/d stable main contrib\n"),
        ("deb http://h/d stable main # a note", "deb-src http://h/d stable main\n"),
        ("deb http://h/flat ./", "deb-src http://h/flat ./\n"),
        (
            "deb [arch=amd64 signed-by=/k.gpg] https://h/d stable main",
            "deb-src [arch=amd64 signed-by=/k.gpg] https://h/d stable main\n",
        ),
        ("deb [ trusted=yes ] file:/srv/d ./", "deb-src [trusted=yes] file:/srv/d ./\n"),
    ],
)
def test_a_line_asks_for_source_packages_with_its_options(line: str, rewritten: str) -> None:
    assert read_list(line) == (SourceEntry(suffix="list", content=rewritten),)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# deb http://h/d stable main",
        "#deb http://h/d stable main",
        "debian http://h/d stable main",
        "deb http://h/d",
        "deb cdrom:[Debian GNU/Linux 12 _Bookworm_]/ bookworm main",
    ],
)
def test_lines_that_name_no_network_source_are_left_out(line: str) -> None:
    assert read_list(line) == ()


STANZA = """# The machine's own.
Types: deb
URIs: http://h/debian
Suites: stable
Components: main contrib
Architectures: amd64
Signed-By: /k.gpg
"""


def test_a_stanza_asks_for_source_packages_with_its_options() -> None:
    (entry,) = read_sources(STANZA)
    assert entry.suffix == "sources"
    assert entry.content == (
        "Types: deb-src\nURIs: http://h/debian\nSuites: stable\nComponents: main contrib\n"
        "Architectures: amd64\nSigned-By: /k.gpg\n"
    )


def test_each_address_and_suite_has_an_entry_of_its_own() -> None:
    text = STANZA.replace("http://h/debian", "http://h/a http://h/b cdrom:x").replace(
        "Suites: stable", "Suites: stable stable-updates"
    )
    found = [entry.content.splitlines()[1:3] for entry in read_sources(text)]
    assert found == [
        ["URIs: http://h/a", "Suites: stable"],
        ["URIs: http://h/a", "Suites: stable-updates"],
        ["URIs: http://h/b", "Suites: stable"],
        ["URIs: http://h/b", "Suites: stable-updates"],
    ]


def test_a_key_inside_a_stanza_is_kept_whole() -> None:
    key = " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEZ\n -----END PGP PUBLIC KEY BLOCK-----"
    (entry,) = read_sources(STANZA.replace(" /k.gpg", f"\n{key}"))
    assert f"Signed-By: \n{key}\n" in entry.content


def test_addresses_may_go_over_lines_and_notes_between_them_do_not_count() -> None:
    text = "types: deb deb-src\nuris: http://h/a\n# note\n  http://h/b\nsuites: x\ncomponents: y\n"
    assert len(read_sources(text)) == 2


def test_several_stanzas_are_read() -> None:
    assert len(read_sources(f"\n\n{STANZA}\n \n{STANZA}\n")) == 2


@pytest.mark.parametrize("word", ["no", "False", "off", "0", "disable", "without"])
def test_disabled_stanzas_are_left_out(word: str) -> None:
    assert read_sources(f"{STANZA}Enabled: {word}\n") == ()
    assert len(read_sources(f"{STANZA}Enabled: yes\n")) == 1


def test_what_was_chosen_for_binary_packages_is_dropped() -> None:
    (entry,) = read_sources(f"{STANZA}Targets: Packages\nEnabled: yes\n")
    assert "Targets" not in entry.content
    assert "Enabled" not in entry.content


@pytest.mark.parametrize("text", ["Types: rpm\nURIs: http://h\nSuites: x\n", "Types: deb\n", "x"])
def test_stanzas_that_are_none_are_left_out(text: str) -> None:
    assert read_sources(text) == ()


def test_the_same_source_twice_counts_once() -> None:
    first, second = read_list("deb http://h/d stable main\ndeb-src http://h/d stable main\n")
    assert first == second


@given(st.text())
def test_any_text_is_read_and_weakens_nothing(text: str) -> None:
    for entry in (*read_list(text), *read_sources(text)):
        assert entry.content.startswith(("deb-src ", "Types: deb-src\n"))
        if "trusted" not in text.lower() and "insecure" not in text.lower():
            assert "trusted" not in entry.content.lower()
            assert "insecure" not in entry.content.lower()


NAMES = st.text(alphabet="abcdefgh-.", min_size=1, max_size=8)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=4))
def test_reading_what_was_written_changes_nothing(parts: list[tuple[str, str, str]]) -> None:
    lines = "\n".join(f"deb http://{host} {suite} {part}" for host, suite, part in parts)
    stanzas = "\n".join(
        f"Types: deb\nURIs: http://{host}\nSuites: {suite}\nComponents: {part}\n"
        for host, suite, part in parts
    )
    for read, text, joint in ((read_list, lines, ""), (read_sources, stanzas, "\n")):
        once = read(text)
        assert len(once) == len(parts)
        assert read(joint.join(entry.content for entry in once)) == once


def test_binary_packages_are_asked_of_those_who_have_them() -> None:
    lines = "deb [arch=amd64] http://h/d stable main\ndeb-src http://h/sources stable main\n"
    (entry,) = read_list_for(lines, PackageType.BINARY)
    assert entry.content == "deb [arch=amd64] http://h/d stable main\n"
    sources = STANZA.replace("Types: deb", "Types: deb-src")
    (entry,) = read_sources_for(f"{STANZA}\n{sources}", PackageType.BINARY)
    assert entry.content.startswith("Types: deb\n")
