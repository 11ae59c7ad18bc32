"""Names: of functions as Google takes them, and under which provider options stand."""

from __future__ import annotations

import re

from riverrun.errors import ConfigError

_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def option_names(provider: str) -> tuple[str, ...]:
    """Under which names provider options are for this API; the last has the last word."""
    return ("google", provider)


def checked_name(name: str) -> str:
    """The name of a function. Raises ConfigError for one that the API refuses."""
    if not _FUNCTION.fullmatch(name):
        raise ConfigError(
            f"the tool name {name!r} cannot be sent to Google: it must begin with a letter or an underscore, and have "
            "no more than 128 letters, digits, underscores, dots, colons and hyphens"
        )
    return name


def valid_name(name: str) -> str:
    """A name as a model wrote it may be one that the API refuses to see again."""
    valid = re.sub(r"[^A-Za-z0-9_.:-]", "_", name)[:128]
    return valid if _FUNCTION.fullmatch(valid) else f"_{valid}"[:128]
