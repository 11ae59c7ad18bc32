"""OpenAI's chat completions, and every server that speaks them: request → model → stream of chunks."""
