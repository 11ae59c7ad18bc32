"""PostgreSQL, if it answers."""

from tests.store.conftest import postgres

__all__ = ["postgres"]
