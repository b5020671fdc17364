"""How encoders use their space."""

JOBS = {"geometry": "job:GeometryJob"}
