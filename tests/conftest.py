"""What all tests share: coroutine tests, the shared material, and the check that nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
from pathlib import Path

import pytest

from riverrun.errors import ConfigError
from riverrun.models.local.weights import DEFAULT_WEIGHTS, find_weights

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recordings and oracle beside the repository; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        if os.environ.get("CI"):
            pytest.fail("the shared folder is missing: in CI nothing may be skipped")
        pytest.skip("needs the shared folder beside the repository")
    return SHARED


@pytest.fixture(scope="session")
def local_weights() -> None:
    """The weights of the embedded model are here; tests that need them are skipped without."""
    try:
        find_weights(DEFAULT_WEIGHTS)
    except ConfigError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}: in CI nothing may be skipped")
        pytest.skip(str(error))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in an event loop of its own, and fail it when it leaves a task behind."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(_alone(pyfuncitem.obj(**arguments)))
    return True


async def _alone(test) -> None:  # type: ignore[no-untyped-def]
    faults: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(str(context.get("exception") or context["message"])))
    await test
    gc.collect()
    for _ in range(3):
        await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not left, f"tasks left behind: {left}"
    assert not faults, f"the event loop complained: {faults}"
