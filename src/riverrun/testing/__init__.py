"""For tests of programs that use riverrun.

A model that answers by script, streams recorded in files, and the check that a stream keeps to the format's order.
"""

from riverrun.models import Call, ScriptedModel
from riverrun.testing.recording import Recorder, Recording, record
from riverrun.testing.well_formed import assert_well_formed

__all__ = ["Call", "Recorder", "Recording", "ScriptedModel", "assert_well_formed", "record"]
