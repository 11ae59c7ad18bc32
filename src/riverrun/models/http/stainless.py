"""Calls through the SDKs that Stainless generates (openai, anthropic): they differ in names only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from riverrun.errors import ModelError
from riverrun.models.http.body import Response
from riverrun.models.http.exchange import WireRequest
from riverrun.models.http.failure import response_error

if TYPE_CHECKING:
    from types import ModuleType


async def post(
    sdk: ModuleType, client: Any, path: str, call: WireRequest, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Send a call with the SDK's client (its authentication, headers and endpoints); gives the response once its
    headers are there. The SDK's own event objects are not made: they cost more than all the rest.

    Raises ModelError when there is no response, or one that is no success.
    """
    import httpx2

    try:
        response = await client.post(
            path,
            cast_to=httpx2.Response,
            body=call.body,
            options={"max_retries": 0, "headers": {**call.headers, **(headers or {})}},
            stream=True,
            stream_cls=sdk.AsyncStream[object],
        )
        return cast("Response", response)  # what the SDK gives for this cast_to
    except sdk.APIStatusError as error:
        raise response_error(error.response.status_code, error.response.headers, error.response.content) from error
    except (sdk.APIConnectionError, httpx2.HTTPError) as error:
        told = str(error.__cause__ or "") or str(error)
        raise ModelError(f"{str(client.base_url).rstrip('/')} cannot be reached: {told}", retryable=True) from error
    except _all_errors(sdk) as error:
        raise ModelError(str(error)) from error


def _all_errors(sdk: ModuleType) -> type[Exception]:
    """The class of all exceptions of an SDK."""
    return cast("type[Exception]", sdk.OpenAIError if hasattr(sdk, "OpenAIError") else sdk.AnthropicError)
