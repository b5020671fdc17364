"""Starting trainings of encoders and decoders."""

JOBS = {
    "train": "job:TrainJob",
    "sweep": "job:SweepJob",
    "train-decoder": "job:TrainDecoderJob",
}
