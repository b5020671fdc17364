"""Starting trainings of encoders and decoders."""

JOBS = {
    "train": "job:TrainJob",
    "sweep": "sweep_job:SweepJob",
    "train-decoder": "job:TrainDecoderJob",
}
