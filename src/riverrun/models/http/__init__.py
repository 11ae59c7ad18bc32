"""What all providers over HTTP share: clients, one exchange (request → bytes → events → chunks), failures, and the
frames of a model and of a decoder.
"""

from riverrun.models.http.address import checked_url
from riverrun.models.http.body import Response
from riverrun.models.http.client import ClientKind, client_of
from riverrun.models.http.decoder import Decoder
from riverrun.models.http.exchange import WireRequest, exchange
from riverrun.models.http.failure import is_retryable, model_error, response_error
from riverrun.models.http.model import HttpModel
from riverrun.models.http.payload import read_json, reader_of

__all__ = [
    "ClientKind",
    "Decoder",
    "HttpModel",
    "Response",
    "WireRequest",
    "checked_url",
    "client_of",
    "exchange",
    "is_retryable",
    "model_error",
    "read_json",
    "reader_of",
    "response_error",
]
