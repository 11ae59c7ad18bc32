"""The first source of weights: one file over HTTP, which goes on where the last attempt stopped."""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

from riverrun.models.local.sources import Report, SourceError

_TIMEOUT = 10.0
_TRIES = 3
_BLOCK = 1 << 18
_REPORT_EVERY = 0.2


def fetch_from_hub(url: str, part: Path, size: int, report: Report) -> None:
    """Write the file at `url` (`size` bytes) to `part`, which may hold its beginning already.

    A connection that breaks is tried again as long as each attempt brings something, three times at most without.
    Raises SourceError when the hub does not answer or stops answering; what came until then stays in `part`.
    """
    tries = 0
    while True:
        before = _length(part)
        if before == size:
            return
        try:
            _fetch(url, part, size, report)
        except urllib.error.HTTPError as error:
            error.close()
            raise SourceError(f"the model hub answered {error.code} {error.reason}") from error
        except urllib.error.URLError as error:
            raise SourceError(f"the model hub cannot be reached ({error.reason})") from error
        except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
            tries = 0 if _length(part) > before else tries + 1
            if tries >= _TRIES:
                raise SourceError(f"the model hub stopped answering ({error or type(error).__name__})") from error
        else:
            if _length(part) >= size:
                return
            tries = 0 if _length(part) > before else tries + 1
            if tries >= _TRIES:
                raise SourceError("the model hub ended the file too early")


def _fetch(url: str, part: Path, size: int, report: Report) -> None:
    """One attempt: ask for what is missing, append it."""
    have = _length(part)
    if have > size:
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": "riverrun"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        resumed = response.status == http.client.PARTIAL_CONTENT and _begins_at(response, have)
        with part.open("ab" if resumed else "wb") as file:
            _copy(response, file, have if resumed else 0, size, report)


def _copy(response: http.client.HTTPResponse, file: IO[bytes], done: int, size: int, report: Report) -> None:
    told = 0.0
    report(done, "hub")
    while block := response.read(_BLOCK):
        file.write(block)
        done += len(block)
        if done > size:
            return  # not our file; its sha256 will tell
        if time.monotonic() - told > _REPORT_EVERY:
            told = time.monotonic()
            report(done, "hub")
    report(done, "hub")


def _begins_at(response: http.client.HTTPResponse, offset: int) -> bool:
    return (response.getheader("Content-Range") or "").startswith(f"bytes {offset}-")


def _length(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
