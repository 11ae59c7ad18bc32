"""What all providers over HTTP share: clients, one exchange (request → bytes → events → chunks), failures."""

from riverrun.models.http.body import Response
from riverrun.models.http.client import ClientKind, client_of, release
from riverrun.models.http.exchange import Decoder, WireRequest, exchange
from riverrun.models.http.failure import is_retryable, model_error, response_error
from riverrun.models.http.payload import NO_JSON, no_json, read_json

__all__ = [
    "NO_JSON",
    "ClientKind",
    "Decoder",
    "Response",
    "WireRequest",
    "client_of",
    "exchange",
    "is_retryable",
    "model_error",
    "no_json",
    "read_json",
    "release",
    "response_error",
]
