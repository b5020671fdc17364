"""Training of sentence encoders: what `engine.train` is put together from."""

from engine.training.events import Event, Finished, Looked, Noted, Started, Stepped
from engine.training.spec import TrainSpec

__all__ = ["Event", "Finished", "Looked", "Noted", "Started", "Stepped", "TrainSpec"]
