"""Checks for problems in a data set."""

JOBS = {"curate": "service:CurateJob"}
