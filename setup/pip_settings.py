"""Says a user's settings of pip in the words of uv, which does not read them.

Reads what ``pip config list`` prints, adds the PIP_* variables, and prints a line NAME=value
for each variable that uv should see. What the user has told uv itself is left alone. Nothing
is written to a file: settings may hold passwords.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_SECTIONS = ("global", "install", ":env:")
"""From the weakest to the strongest, as pip has them."""

_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "retries": "UV_HTTP_RETRIES",
    "keyring-provider": "UV_KEYRING_PROVIDER",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}
_SEPARATORS = {"extra-index-url": " ", "find-links": ",", "trusted-host": " "}
_OLD_NAMES = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


def read(lines: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings by name, the strongest of each."""
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in lines:
        key, equals, quoted = line.partition("=")
        section, _, name = key.rpartition(".")
        if equals and section in found:
            found[section][name] = str(ast.literal_eval(quoted))
    for variable, value in environment.items():
        if variable.startswith("PIP_"):
            found[":env:"][variable.removeprefix("PIP_").lower().replace("_", "-")] = value
    return {name: value for section in _SECTIONS for name, value in found[section].items()}


def translate(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell uv the same, except those that are already set."""
    told = {}
    for name, value in settings.items():
        words = value.split()
        if name in _NAMES and words:
            told[_NAMES[name]] = _SEPARATORS.get(name, " ").join(words)
    if "UV_INDEX" in told:
        # As pip does, take a package from whichever index has the pinned version. The pinned
        # hashes make it safe.
        told["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if settings.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        told["UV_OFFLINE"] = "1"
    return {
        name: value
        for name, value in told.items()
        if name not in environment and _OLD_NAMES.get(name, name) not in environment
    }


def has_own_settings(environment: Mapping[str, str]) -> bool:
    """Return whether the user or the machine has a configuration file for uv."""
    default = Path(environment.get("HOME", "/")) / ".config"
    user = Path(environment.get("XDG_CONFIG_HOME") or default)
    return any(folder.joinpath("uv", "uv.toml").is_file() for folder in (user, Path("/etc")))


if __name__ == "__main__" and not has_own_settings(os.environ):
    for _name, _value in translate(read(sys.stdin, os.environ), os.environ).items():
        print(f"{_name}={_value}")
