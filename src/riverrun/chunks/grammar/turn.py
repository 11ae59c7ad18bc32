"""What is remembered of an agent's stream: the open turn, its open step, the blocks and calls in it. Numbers are positions."""

from __future__ import annotations

from riverrun.chunks.grammar.problem import Log


class Blocks:
    """The blocks of one kind in a step. `loose` ones have deltas and no start."""

    __slots__ = ("closed", "kind", "loose", "opened")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.opened: dict[str, int] = {}
        self.closed: dict[str, int] = {}
        self.loose: set[str] = set()

    def start(self, id: str, at: int, log: Log) -> None:
        """A block opens."""
        if id in self.opened:
            log.error(
                at, f"{self.kind}-start of {id!r}, open since chunk {self.opened[id]}; expected {self.kind}-end before"
            )
        elif id in self.closed:
            log.warn(at, f"{self.kind}-start of {id!r} again, closed at chunk {self.closed[id]}; expected a new id")
        self.opened[id] = at

    def inside(self, id: str, name: str, at: int, log: Log) -> None:
        """The chunk `name` belongs to a block."""
        if id in self.opened or id in self.loose:
            return
        if id in self.closed:
            log.error(at, f"{name} of {id!r}, closed at chunk {self.closed[id]}")
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
                at, f"{name} while {self.kind} {id!r} is open since chunk {opened}; expected {self.kind}-end before"
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
        """What came after which the model may not go on."""

    def close(self, name: str, at: int, log: Log) -> None:
        """The chunk `name` ends what the model gave: every block must have closed."""
        self.text.left_open(name, at, log)
        self.reasoning.left_open(name, at, log)
        self.inputs.left_open(name, at, log)
        for call_id, ended in self.inputs.closed.items():
            if call_id not in self.calls:
                log.error(at, f"{name} without the tool-call of {call_id!r}, whose arguments ended at chunk {ended}")


class Turn:
    """What lies between a start and its finish. `implied`: it was opened by a chunk that may not open it."""

    __slots__ = ("finished", "goes_on", "implied", "muted", "opened", "remote", "run_id", "step", "stopped", "waiting")

    def __init__(self, opened: int, *, implied: bool = False) -> None:
        self.opened = opened
        self.implied = implied
        self.run_id: str | None = None
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
