"""The headers of a request: the caller's, what asks for parts of the API that not everybody has, and its version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from riverrun.chunks.envelope import is_list

_BETA = "anthropic-beta"
_VERSION = "anthropic-version"
_SAMPLING = ("temperature", "top_p", "top_k")
_SAMPLING_VERSION = "2023-06-01"
"""The last version of the API that has these settings. The SDK asks for a later one."""


class Headers:
    """The headers of one request. `betas` names what is asked for; more may be added."""

    def __init__(self, given: Mapping[str, str] | None, options: dict[str, Any]) -> None:
        """Takes the betas out of the options."""
        self.betas: list[str] = []
        self._given: dict[str, str] = {}
        for name, value in (given or {}).items():
            if name.lower() == _BETA:
                self._ask(value)
            else:
                self._given[name] = value
        for name in ("anthropic_beta", "betas"):
            self._ask(options.pop(name, None))

    def for_body(self, body: Mapping[str, Any]) -> dict[str, str]:
        """The headers that go with a body."""
        headers = dict(self._given)
        if self.betas:
            headers[_BETA] = ",".join(dict.fromkeys(self.betas))
        if any(name in body for name in _SAMPLING) and not any(name.lower() == _VERSION for name in headers):
            headers[_VERSION] = _SAMPLING_VERSION
        return headers

    def _ask(self, betas: object) -> None:
        names: Iterable[Any] = betas.split(",") if isinstance(betas, str) else betas if is_list(betas) else ()
        self.betas += [name.strip() for name in map(str, names) if name.strip()]
