"""The embedded model: llama.cpp beside the program, and the weights that it runs."""

from riverrun.models.local.model import LocalModel
from riverrun.models.local.pull import PullProgress, pull
from riverrun.models.local.weights import weights_directory

__all__ = ["LocalModel", "PullProgress", "pull", "weights_directory"]
