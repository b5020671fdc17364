"""A collection on a plane."""

JOBS = {"project": "job:MapJob"}
