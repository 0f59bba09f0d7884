"""What this machine's processor and kernel can do, for transforms that depend on it."""

from __future__ import annotations

import gzip
import platform
from pathlib import Path

from dbhone import process
from dbhone.compilation.transforms.base import Transform
from dbhone.files import text_if_there

_ROOT = Path("/")
_LINUX_NAMES = {
    "bmi": "bmi1",
    "gcchavesynccompareandswap16": "cx16",
    "lahfsahf": "lahf_lm",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "prfchw": "3dnowprefetch",
    "rdrnd": "rdrand",
    "sha": "sha_ni",
    "sse3": "pni",
}
"""What Linux calls what compilers define a macro for, where the names differ in more than marks."""
_OF_KERNELS = frozenset({"invpcid", "pconfig", "wbnoinvd", "xsaves"})
"""Instructions that only a kernel may execute: compilers name them, and no program needs them."""


def lack(transform: Transform, root: Path = _ROOT) -> str | None:
    """Return what this machine lacks of what a transform needs, None if it has everything.

    ``root`` is where ``proc``, ``sys`` and ``boot`` are.
    """
    missing = lacking_instructions(transform.cpu_flags, root)
    if missing is not None:
        return missing
    if transform.kernel_options:
        configured = _kernel_options(root)
        if not configured:
            return "this machine's kernel does not expose its configuration"
        absent = [name for name in transform.kernel_options if name not in configured]
        if absent:
            return f"this machine's kernel was built without {', '.join(absent)}"
    for name, word in transform.kernel_settings.items():
        if word not in text_if_there(root / name).split():
            return f"/{name} does not contain {word}"
    return None


def lacking_instructions(cpu_flags: frozenset[str], root: Path = _ROOT) -> str | None:
    """Return in words what this machine's processor lacks of these, None if it has them all."""
    missing = sorted(cpu_flags - _cpu_flags(root))
    return f"this machine's processor lacks {', '.join(missing)}" if missing else None


def native_cpu_flags(compiler: Path, root: Path = _ROOT) -> tuple[str, ...]:
    """Return what -march=native lets a compiler use of this processor, as Linux names it.

    It is what the compiler defines a macro for then, and does not otherwise.
    """
    used = {_plain(macro) for macro in _macros(compiler, "-march=native") - _macros(compiler)}
    named = {_plain(_LINUX_NAMES.get(name, name)) for name in used}
    flags = _cpu_flags(root) - _OF_KERNELS
    return tuple(sorted(flag for flag in flags if _plain(flag) in named))


def _macros(compiler: Path, *flags: str) -> frozenset[str]:
    argv = (str(compiler), *flags, "-dM", "-E", "-x", "c", "/dev/null")
    lines = (line.split() for line in (process.output_of(argv) or "").splitlines())
    return frozenset(words[1] for words in lines if len(words) > 1)


def _plain(name: str) -> str:
    """Return ``avx512vbmi2`` of ``__AVX512VBMI2__`` and of ``avx512_vbmi2``."""
    return name.replace("_", "").lower()


def _cpu_flags(root: Path) -> frozenset[str]:
    lines = text_if_there(root / "proc/cpuinfo").splitlines()
    return frozenset(next((line.split()[2:] for line in lines if line.startswith("flags")), ()))


def _kernel_options(root: Path) -> frozenset[str]:
    """Return the options that are on, built in or as modules; none where nothing tells."""
    try:
        packed = (root / "proc/config.gz").read_bytes()
        text = gzip.decompress(packed).decode("utf-8", "replace")
    except OSError:
        text = text_if_there(root / "boot" / f"config-{platform.release()}")
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return frozenset(name for name, value in pairs if value in ("y", "m"))
