"""A web server in forty lines: a run streamed to a browser as server-sent events, by hand.

    python examples/sse_by_hand.py        then:  curl -N 'http://127.0.0.1:8008/?q=Tell+me+a+joke'

Each event is `data: <chunk as JSON>` and an empty line; `data: [DONE]` ends the stream. When the browser goes away the
run is cancelled, and with it the model.
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

from riverrun import Agent
from riverrun.chunks import encode

agent = Agent("joker", model="local/qwen2.5-coder-0.5b", instructions="Answer in one or two sentences.")

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"x-accel-buffering: no\r\nconnection: close\r\n\r\n"
)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request: the question is the parameter `q`."""
    try:
        request = await reader.readuntil(b"\r\n\r\n")
        target = request.split(b" ", 2)[1].decode()
        question = parse_qs(urlsplit(target).query).get("q", ["Say hello."])[0]
        writer.write(HEAD)
        async with agent.stream(question) as run:
            async for chunk in run:
                writer.write(b"data: " + encode(chunk) + b"\n\n")
                await writer.drain()  # raises when the browser has gone
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(port: int) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", port)
    print(f"http://127.0.0.1:{port}/?q=Tell+me+a+joke")
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 8008))
