"""The `riverrun` command: chat with a model, fetch weights, check recorded streams."""
