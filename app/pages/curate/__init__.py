"""What is wrong in a data set."""

JOBS = {"curate": "service:CurateJob"}
