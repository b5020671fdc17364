"""Trainings of encoders and of decoders, begun."""

JOBS = {
    "train": "job:TrainJob",
    "sweep": "sweep_job:SweepJob",
    "train-decoder": "job:TrainDecoderJob",
}
