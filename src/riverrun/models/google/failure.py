"""What Google's servers say of a failure → ModelError."""

from __future__ import annotations

import re
from collections.abc import Mapping

from riverrun.chunks.envelope import is_list, mapping
from riverrun.errors import ModelError
from riverrun.models.http import model_error, read_json, response_error

_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]+)?)s")


def stream_failure(said: object) -> ModelError:
    """The exception for a failure that is told inside a stream."""
    return _refined(model_error(said), said)


def response_failure(status: int, headers: Mapping[str, str], content: bytes) -> ModelError:
    """The exception for a response that is no success."""
    said = read_json(content)
    if is_list(said):
        said = next(iter(said), None)
    return _refined(response_error(status, headers, content), said)


def _refined(error: ModelError, said: object) -> ModelError:
    """With the provider's word (RESOURCE_EXHAUSTED) as code, and the wait that its RetryInfo asks for."""
    members = mapping(mapping(said).get("error")) or mapping(said)
    word = members.get("status")
    if isinstance(word, str) and word:
        error.code = word
    if error.retry_after is None:
        error.retry_after = _retry_delay(members.get("details"))
    return error


def _retry_delay(details: object) -> float | None:
    for detail in details if is_list(details) else ():
        delay = mapping(detail).get("retryDelay")
        found = _SECONDS.fullmatch(delay) if isinstance(delay, str) else None
        if found is not None:
            return float(found[1])
    return None
