"""A collection under two encoders."""

JOBS = {"spaces": "service:SpacesJob"}
