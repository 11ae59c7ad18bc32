"""Answers that are no success, and what has to come of each: some that any server may give, and each API's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from tests.models.exchange import KEY
from tests.models.loopback import Reply

JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html"}
_WHY = "the provider failed and did not say why"


@dataclass(frozen=True, slots=True)
class Failure:
    """What a server says, JSON or bytes as they are, and the ModelError that has to come of it."""

    name: str
    status: int
    said: Any
    message: str
    _: KW_ONLY
    retryable: bool
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    code: str | int | None = None
    retry_after: float | None = None

    @property
    def reply(self) -> Reply:
        if isinstance(self.said, bytes):
            return Reply(status=self.status, pieces=[self.said] if self.said else [], headers={**HTML, **self.headers})
        return Reply(status=self.status, pieces=[json.dumps(self.said).encode()], headers={**JSON, **self.headers})


def told(message: str, **members: Any) -> dict[str, Any]:
    """The JSON of a failure, as nearly all servers write it."""
    return {"error": {"message": message, **members}}


ANY: Sequence[Failure] = (
    Failure(
        "503 html",
        503,
        b"<html>busy</html>",
        "<html>busy</html>",
        headers={"retry-after-ms": "1500", "retry-after": "9"},
        retryable=True,
        retry_after=1.5,
    ),
    Failure("529 html", 529, b"<html>busy</html>", "<html>busy</html>", retryable=True),
    Failure(
        "500 empty",
        500,
        b"",
        _WHY,
        headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"},
        retryable=True,
        retry_after=0.0,
    ),
    Failure("429 header", 429, told("slow"), "slow", headers={"retry-after": "7"}, retryable=True, retry_after=7.0),
    Failure("422 detail", 422, {"detail": "bad field"}, "bad field", headers={"retry-after": "soon"}, retryable=False),
    Failure("404 list", 404, [told("no such model", code=404)], "no such model", code=404, retryable=False),
    Failure("400 odd", 400, [], _WHY, retryable=False),
    Failure(
        "503 called a stream", 503, told("busy"), "busy", headers={"content-type": "text/event-stream"}, retryable=True
    ),
)


def _slow(word: str, **members: str) -> Failure:
    """Too many requests, as one of OpenAI's APIs says it: `members` of its error tell the word that is its code."""
    return Failure(
        "429",
        429,
        told("slow", **members),
        "slow",
        headers={"retry-after": "7"},
        code=word,
        retryable=True,
        retry_after=7.0,
    )


_BAD_KEY = told(f"Bad key: {KEY}.", code="invalid_api_key")
_OPENAI = (
    Failure("401", 401, _BAD_KEY, "Bad key: ***.", code="invalid_api_key", retryable=False),
    Failure(
        "429 quota", 429, told("pay", code="insufficient_quota"), "pay", code="insufficient_quota", retryable=False
    ),
)

OPENAI_CHAT: Sequence[Failure] = (
    *_OPENAI,
    _slow("rate_limit", type="rate_limit"),
)

OPENAI_RESPONSES: Sequence[Failure] = (
    *_OPENAI,
    Failure(
        "400",
        400,
        told("bad id", code="invalid_value", param="input"),
        "bad id",
        code="invalid_value",
        retryable=False,
    ),
    _slow("rate_limit_exceeded", code="rate_limit_exceeded"),
    Failure("500", 500, told("sorry", type="server_error"), "sorry", code="server_error", retryable=True),
)


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", **told(message, type=kind), "request_id": "r"}


ANTHROPIC: Sequence[Failure] = (
    Failure(
        "400",
        400,
        _anthropic("invalid_request_error", "max_tokens: too big"),
        "max_tokens: too big",
        code="invalid_request_error",
        retryable=False,
    ),
    Failure(
        "401",
        401,
        _anthropic("authentication_error", f"Bad key: {KEY}."),
        "Bad key: ***.",
        code="authentication_error",
        retryable=False,
    ),
    Failure(
        "429",
        429,
        _anthropic("rate_limit_error", "slow"),
        "slow",
        headers={"retry-after": "7"},
        code="rate_limit_error",
        retryable=True,
        retry_after=7.0,
    ),
    Failure("500", 500, _anthropic("api_error", "oh"), "oh", code="api_error", retryable=True),
    Failure(
        "529", 529, _anthropic("overloaded_error", "Overloaded"), "Overloaded", code="overloaded_error", retryable=True
    ),
)

_RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}

GOOGLE: Sequence[Failure] = (
    Failure(
        "400",
        400,
        told(f"API key {KEY} not valid.", code=400, status="INVALID_ARGUMENT"),
        "API key *** not valid.",
        code="INVALID_ARGUMENT",
        retryable=False,
    ),
    Failure(
        "429 RetryInfo",
        429,
        told("slow", code=429, status="RESOURCE_EXHAUSTED", details=[_RETRY_INFO]),
        "slow",
        code="RESOURCE_EXHAUSTED",
        retryable=True,
        retry_after=34.5,
    ),
    Failure("500", 500, told("oops", code=500, status="INTERNAL"), "oops", code="INTERNAL", retryable=True),
)
