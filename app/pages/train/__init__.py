"""Trainings of encoders and of decoders, begun."""

JOBS = {"train": "job:TrainJob", "sweep": "job:SweepJob", "train-decoder": "job:TrainDecoderJob"}
