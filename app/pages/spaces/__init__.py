"""A collection under two encoders."""

QUESTIONS = {"spaces": "answer:SPACES"}
JOBS = {"spaces": "job:SpacesSpec"}
