"""One encoder's resampled scores, where a test needs no second one."""

from theodolite.engine.stats.bootstrap import Resampled, Sample, resample_all


def resample(sample: Sample, resamples: int = 2000, seed: int = 0) -> Resampled:
    """As `resample_all` of it alone."""
    return resample_all([sample], resamples, seed)[0]
