"""Training of sentence encoders: the parts of `engine.train`."""

from theodolite.engine.training.events import Evaluated, Event, Finished, Noted, Started, Stepped
from theodolite.engine.training.spec import TrainSpec

__all__ = ["Evaluated", "Event", "Finished", "Noted", "Started", "Stepped", "TrainSpec"]
