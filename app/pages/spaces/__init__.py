"""A collection under two encoders."""

QUESTIONS = {"spaces": "answer:SPACES", "upgrade": "upgrade:UPGRADE"}
JOBS = {"spaces": "job:SpacesSpec", "upgrade": "upgrade:UpgradeSpec"}
