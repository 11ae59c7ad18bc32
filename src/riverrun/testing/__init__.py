"""For tests of programs that use riverrun.

Models that answer by script or with what a provider sent once, streams recorded in files, and the check that a stream
keeps to the format's order.
"""

from riverrun.models import Call, ScriptedModel
from riverrun.models.recorded import RecordedModel
from riverrun.testing.recording import Recorder, Recording, record
from riverrun.testing.well_formed import assert_well_formed

__all__ = ["Call", "RecordedModel", "Recorder", "Recording", "ScriptedModel", "assert_well_formed", "record"]
