"""Training of sentence encoders: the parts of `engine.train`."""

from engine.training.events import Evaluated, Event, Finished, Noted, Started, Stepped
from engine.training.spec import TrainSpec

__all__ = ["Evaluated", "Event", "Finished", "Noted", "Started", "Stepped", "TrainSpec"]
