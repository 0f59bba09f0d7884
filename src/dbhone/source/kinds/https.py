"""``https://…#sha256=HEX``: an archive from a web server, trusted by its checksum.

The server's certificate is verified as well, with the machine's own authorities or those of
SSL_CERT_FILE. A redirect to another scheme than https is an error. HTTPS_PROXY names a proxy, with
a name and a password in front of the host if it wants them.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urljoin, urlsplit

import urllib3

from dbhone import __version__
from dbhone.errors import SourceError, UsageError
from dbhone.source.archive import unpack
from dbhone.source.fetch import CHECK_NETWORK, FetchJob, SourceReference, throttled
from dbhone.source.kinds.base import SourceKind
from dbhone.source.ready_made import find_server, restore_execute_bits
from dbhone.units import size

_SYNTAX = "https://HOST/FILE#sha256=HEX"
_HINT = (
    "append '#sha256=' and the file's 64 hex digits; the project publishes them, or: sha256sum FILE"
)
_HEX = re.compile(r"[0-9a-f]{64}")
_SECRET = re.compile(
    r"token|secret|passw|credential|signature|key(?!word)|(?<![a-z])(sig|pass|pwd|auth)(?![a-z])",
    re.IGNORECASE,
)
_TIMEOUT = urllib3.Timeout(connect=20.0, read=60.0)
# A busy server is tried again, an invalid certificate is not.
_TRIES = urllib3.Retry(
    total=3, redirect=0, other=0, status_forcelist=(502, 503, 504), backoff_factor=0.5
)
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_CHUNK = 256 * 1024


def _parse(text: str) -> SourceReference:
    url, _, fragment = text.partition("#")
    parts = _split(url)
    if parts is None or not parts.hostname or not parts.path.strip("/"):
        raise UsageError(f"'{text}' names no file", hint=f"write it as {_SYNTAX}")
    if parts.username or parts.password or _has_secret(parts.query):
        raise UsageError(
            "a password or token in a source reference would be written into reports",
            hint="download and unpack the file yourself, and name the folder: dir:FOLDER",
        )
    name, _, value = fragment.partition("=")
    if name != "sha256" or not _HEX.fullmatch(value.lower()):
        raise UsageError(
            f"'{text}' has no sha256, so the download could not be trusted", hint=_HINT
        )
    return SourceReference(text=text, kind="https", location=url, sha256=value.lower())


def _has_secret(query: str) -> bool:
    """Return whether an address has a parameter with a value, and a name like that of a secret."""
    names = (name for name, _ in parse_qsl(query.replace(";", "&")))
    return any(_SECRET.search(name) for name in names)


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address, None if it is malformed."""
    try:
        parts = urlsplit(url)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def _fetch(job: FetchJob) -> str:
    archive = job.scratch / "archive"
    sha256 = _download(job, archive)
    if sha256 != job.reference.sha256:
        raise SourceError(
            f"{job.reference.location} has a different checksum than expected: sha256 {sha256}",
            hint="the file was changed or the checksum is that of another file; nothing was kept",
        )
    job.notify(f"unpacking {_file_name(job)}")
    unpack(archive, job.into, scratch=job.scratch, name=job.reference.location)
    if find_server(job.into) is not None:
        restore_execute_bits(job.into)
    return f"{job.reference.location}#sha256={sha256}"


def _download(job: FetchJob, target: Path) -> str:
    """Download the archive to ``target``; return its SHA-256."""
    digest = hashlib.sha256()
    try:
        with _open(job.reference.location) as response, target.open("wb") as file:
            progress = _Progress(job, response.headers.get("Content-Length"))
            for chunk in response.stream(_CHUNK, decode_content=False):
                digest.update(chunk)
                file.write(chunk)
                progress.add(len(chunk))
    except urllib3.exceptions.HTTPError as error:
        raise SourceError(
            f"cannot download {job.reference.location}: {_reason(error)}",
            hint=CHECK_NETWORK,
        ) from error
    return digest.hexdigest()


@contextmanager
def _open(url: str) -> Iterator[urllib3.BaseHTTPResponse]:
    """Yield the response at the end of the redirects."""
    for _ in range(_MOST_REDIRECTS):
        with _pool(url) as pool:
            response = pool.request(
                "GET",
                url,
                preload_content=False,
                redirect=False,
                timeout=_TIMEOUT,
                retries=_TRIES,
                headers={"User-Agent": f"dbhone/{__version__}", "Accept-Encoding": "identity"},
            )
            try:
                if response.status == 200:
                    yield response
                    return
                url = _next(url, response)
            finally:
                response.close()
    raise SourceError(f"{url} redirects too many times")


def _next(url: str, response: urllib3.BaseHTTPResponse) -> str:
    """Return the address of a redirect. Raises SourceError if it is none, or not to https."""
    target = response.headers.get("Location")
    if response.status not in _REDIRECTS or target is None:
        raise SourceError(
            f"{url} answered {response.status} {response.reason or ''}".rstrip(),
            hint="check the address in a browser",
        )
    address = urljoin(url, target)
    parts = _split(address)
    if parts is None or parts.scheme != "https":
        raise SourceError(f"{url} redirects to {address}, which is not https")
    return address


def _pool(url: str) -> urllib3.PoolManager:
    context = ssl.create_default_context()
    host = urlsplit(url).hostname or ""
    proxy = urllib.request.getproxies().get("https")
    if proxy and not urllib.request.proxy_bypass(host):
        address = proxy if "://" in proxy else f"http://{proxy}"
        headers = _proxy_headers(address)
        return urllib3.ProxyManager(address, proxy_headers=headers, ssl_context=context)
    return urllib3.PoolManager(ssl_context=context)


def _proxy_headers(address: str) -> dict[str, str]:
    """Return the headers with the name and the password in a proxy's address, which it needs."""
    auth = urllib3.util.parse_url(address).auth
    if auth is None:
        return {}
    # As latin-1 the bytes stay what they are: urllib3 encodes them so.
    name, _, password = (unquote(part, "latin-1") for part in auth.partition(":"))
    return urllib3.make_headers(proxy_basic_auth=f"{name}:{password}")


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    return _reason(inner) if isinstance(inner, BaseException) else str(error)


def _file_name(job: FetchJob) -> str:
    return Path(urlsplit(job.reference.location).path).name


class _Progress:
    """Reports the progress of a download."""

    def __init__(self, job: FetchJob, length: str | None) -> None:
        self._notify = throttled(job.notify)
        self._doing = f"downloading {_file_name(job)}"
        is_number = length is not None and re.fullmatch(r"[0-9]{1,18}", length)
        self._total = size(int(length)) if length and is_number else ""
        self._received = 0
        job.notify(f"{self._doing}, {self._total or 'of unknown size'}")

    def add(self, count: int) -> None:
        self._received += count
        total = f" of {self._total}" if self._total else ""
        self._notify(f"{self._doing}: {size(self._received)}{total}")


PLUGIN = SourceKind(syntax=_SYNTAX, parse=_parse, fetch=_fetch)
