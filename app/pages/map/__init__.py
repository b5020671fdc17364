"""A collection in two dimensions."""

JOBS = {"project": "job:MapSpec"}
