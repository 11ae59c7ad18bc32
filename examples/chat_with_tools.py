"""A conversation of two turns with the embedded model, which calls a tool when it needs one.

    python examples/chat_with_tools.py

The weights come with `riverrun pull`; nothing leaves the machine.
"""

import asyncio

from riverrun import Agent, tool
from riverrun.chunks import Message, TextDeltaChunk, ToolCallChunk, ToolResultChunk


@tool
async def get_weather(city: str) -> dict[str, object]:
    """Current weather for a city.

    Args:
        city: The city's name.
    """
    return {"city": city, "sky": "clear", "celsius": 21}


agent = Agent(
    "weather",
    model="local/qwen2.5-coder-0.5b",
    instructions="You are a friendly assistant. Answer in one or two sentences.",
    tools=[get_weather],
)


async def main() -> None:
    messages: list[Message] = []
    for question in ("What is the weather in Paris right now?", "How do you say goodbye in French?"):
        print(f"\n> {question}")
        run = agent.stream([*messages, question])
        async for chunk in run:
            match chunk:
                case TextDeltaChunk(p):
                    print(p.text, end="", flush=True)
                case ToolCallChunk(p):
                    print(f"[calls {p.tool_name} with {p.args}]")
                case ToolResultChunk(p):
                    print(f"[{p.tool_name} gave {p.result}]")
                case _:
                    pass
        usage = await run.usage
        print(f"\n({await run.finish_reason}; {usage.input_tokens} tokens in, {usage.output_tokens} out)")
        messages = await run.messages


if __name__ == "__main__":
    asyncio.run(main())
