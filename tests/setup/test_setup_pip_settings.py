"""A user's settings of pip, said in the words of uv."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setup.pip_settings import has_own_settings, read, translate

WORDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)
NAMES = st.sampled_from(["index-url", "extra-index-url", "find-links", "cert", "proxy", "timeout"])


def uv_settings(*lines: str, **environment: str) -> dict[str, str]:
    return translate(read(lines, environment), environment)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("global.index-url='https://a/simple'", {"UV_DEFAULT_INDEX": "https://a/simple"}),
        ("install.cert='/etc/ca.pem'", {"SSL_CERT_FILE": "/etc/ca.pem"}),
        ("global.client-cert='/etc/me.pem'", {"SSL_CLIENT_CERT": "/etc/me.pem"}),
        ("global.proxy='http://p:3128'", {"ALL_PROXY": "http://p:3128"}),
        ("global.default-timeout='180'", {"UV_HTTP_TIMEOUT": "180"}),
        ("global.trusted-host='a\\nb'", {"UV_INSECURE_HOST": "a b"}),
        ("global.find-links='\\n/one\\n/two'", {"UV_FIND_LINKS": "/one,/two"}),
        (
            "global.extra-index-url='https://a\\nhttps://b'",
            {"UV_INDEX": "https://a https://b", "UV_INDEX_STRATEGY": "unsafe-best-match"},
        ),
        ("global.no-index='true'", {"UV_OFFLINE": "1"}),
        ("global.no-index='false'", {}),
        ("download.index-url='https://a'", {}),
        ("global.disable-pip-version-check='1'", {}),
        ("no setting at all", {}),
    ],
)
def test_what_is_set_for_pip_is_told_to_uv(line: str, told: dict[str, str]) -> None:
    assert uv_settings(line) == told


def test_the_variables_of_pip_count_without_pip() -> None:
    assert uv_settings(PIP_INDEX_URL="https://a") == {"UV_DEFAULT_INDEX": "https://a"}


@given(NAMES, WORDS, WORDS)
def test_the_stronger_section_wins_in_any_order(name: str, weak: str, strong: str) -> None:
    lines = [f"install.{name}={strong!r}", f"global.{name}={weak!r}"]
    assert read(lines, {}) == read(reversed(lines), {}) == {name: strong}


@given(st.dictionaries(NAMES, WORDS), st.sets(st.sampled_from(["UV_DEFAULT_INDEX", "UV_INDEX"])))
def test_what_the_user_has_told_uv_is_left_alone(
    settings: dict[str, str], already: set[str]
) -> None:
    told = translate(settings, dict.fromkeys(already, "mine"))
    assert told.keys().isdisjoint(already)
    assert told.keys() <= translate(settings, {}).keys()


def test_the_older_names_of_uv_count_as_told() -> None:
    assert uv_settings("global.index-url='https://a'", UV_INDEX_URL="https://mine") == {}


def test_a_configuration_file_for_uv_is_seen(tmp_path: Path) -> None:
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").touch()
    assert has_own_settings({"XDG_CONFIG_HOME": str(tmp_path)})
