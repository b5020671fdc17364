"""Data sets: what is here, how one's own get in, and MTEB's suites."""

JOBS = {"fetch": "suites:FetchJob"}
