"""A call that stops itself until somebody answers."""

from __future__ import annotations


class CallSuspended(BaseException):
    """Leaves a tool's code when it suspends its call. Not an Exception, so that tools do not catch it by chance."""
