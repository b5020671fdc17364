"""Checks for problems in a data set, and for texts of tasks in training data."""

JOBS = {"curate": "service:CurateJob", "leaks": "leaks:LeakJob"}
