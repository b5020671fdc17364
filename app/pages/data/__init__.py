"""Data sets: what is available, adding your own, and MTEB's suites."""

JOBS = {"fetch": "suites:FetchJob"}
