"""What is remembered of an agent's stream: the open turn, its open step, the blocks and calls in it.

Numbers are the positions of chunks.
"""

from __future__ import annotations

from riverrun.chunks.grammar.problem import Log


class Blocks:
    """The blocks of one kind in a step."""

    __slots__ = ("closed", "kind", "loose", "opened")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.opened: dict[str, int] = {}
        self.closed: dict[str, int] = {}
        self.loose: set[str] = set()
        """Blocks without a start, after that was reported."""

    def start(self, id: str, at: int, log: Log) -> None:
        """A block opens."""
        if id in self.opened:
            log.error(at, f"{self.kind}-start of {id!r}, open since chunk {self.opened[id]}; expected {self.kind}-end")
        elif id in self.closed:
            log.warn(at, f"{self.kind}-start of {id!r} again, closed at chunk {self.closed[id]}; expected a new id")
        self.opened[id] = at

    def inside(self, id: str, name: str, at: int, log: Log) -> None:
        """The chunk `name` belongs to a block."""
        if id in self.opened or id in self.loose:
            return
        if id in self.closed:
            log.error(at, f"{name} of {id!r}, closed at chunk {self.closed[id]}; expected it before {self.kind}-end")
        else:
            log.error(at, f"{name} of {id!r}, which is not open; expected {self.kind}-start before")
        self.loose.add(id)

    def end(self, id: str, at: int, log: Log) -> None:
        """A block closes."""
        self.inside(id, f"{self.kind}-end", at, log)
        self.opened.pop(id, None)
        self.loose.discard(id)
        self.closed[id] = at

    def left_open(self, name: str, at: int, log: Log) -> None:
        """The chunk `name` comes, before which every block must have closed."""
        for id, opened in self.opened.items():
            log.error(
                at, f"{name}, but {self.kind} {id!r} is open since chunk {opened}; expected {self.kind}-end before"
            )


class Step:
    """A step. `resumed`: it began in another stream, so its calls are not known."""

    __slots__ = ("barred", "calls", "inputs", "opened", "outcomes", "reasoning", "remote", "result", "resumed", "text")

    def __init__(self, opened: int, *, resumed: bool = False) -> None:
        self.opened = opened
        self.resumed = resumed
        self.text = Blocks("text")
        self.reasoning = Blocks("reasoning")
        self.inputs = Blocks("tool-call-input-streaming")
        self.calls: dict[str, int] = {}
        self.outcomes: dict[str, int] = {}
        self.remote: set[str] = set()
        """Calls that the provider runs."""
        self.result: int | None = None
        """The object-result."""
        self.barred: str | None = None
        """Why the model may not go on."""

    def close(self, name: str, at: int, log: Log, *, again: bool = False) -> None:
        """The chunk `name` ends what the model gives: every block must have closed. `again`: the step is taken again,
        so that a call may have been cut off.
        """
        self.text.left_open(name, at, log)
        self.reasoning.left_open(name, at, log)
        self.inputs.left_open(name, at, log)
        for call_id, ended in self.inputs.closed.items():
            if call_id not in self.calls and not again:
                log.error(at, f"{name}, but {call_id!r}, whose arguments ended at chunk {ended}, has no tool-call")


class Turn:
    """What lies between a start and its finish. `implied`: a chunk opened it that may not."""

    __slots__ = (
        "finished",
        "goes_on",
        "implied",
        "muted",
        "opened",
        "remote",
        "run_id",
        "step",
        "stopped",
        "stray",
        "waiting",
    )

    def __init__(self, opened: int, run_id: str | None, *, implied: bool = False) -> None:
        self.opened = opened
        self.run_id = run_id
        self.implied = implied
        self.stray: str | None = None
        """The last other run id that was reported."""
        self.step: Step | None = None
        self.finished: int | None = None
        """The last step-finish."""
        self.goes_on: bool | None = None
        """Whether the last step-finish says that a step follows."""
        self.stopped: tuple[str, int] | None = None
        """The error or abort that stopped the model."""
        self.muted = False
        """Whether a chunk behind `stopped` was reported."""
        self.waiting: dict[str, str] = {}
        """Calls that suspend the run, with the chunk that says so."""
        self.remote: set[str] = set()
        """Calls of earlier steps whose results the provider still owes."""

    def missing(self, *, model: bool) -> str | None:
        """What must still come before the turn is over; None: it may end here. `model`: it is a model's."""
        if self.stopped is not None:
            return f"after {self.stopped[0]} (chunk {self.stopped[1]}); expected finish before"
        if self.waiting:
            return None
        if self.step is not None:
            expected = "finish" if model else "step-finish and finish"
            return f"inside the step opened at chunk {self.step.opened}; expected {expected} before"
        if self.goes_on:
            return f"after step-finish with isContinued true (chunk {self.finished}); expected step-start before"
        return f"inside the turn opened at chunk {self.opened}; expected finish before"


class Tasks:
    """Calls that run as background tasks. One that ended is known until the next turn, for results still to come."""

    __slots__ = ("ended", "running")

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.ended: set[str] = set()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self.running or call_id in self.ended

    def end(self, call_id: str) -> None:
        """The task ended."""
        if call_id in self.running:
            self.running.remove(call_id)
            self.ended.add(call_id)
