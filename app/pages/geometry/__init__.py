"""How encoders use their space."""

QUESTIONS = {"geometry": "answer:GEOMETRY", "distributions": "answer:DISTRIBUTIONS"}
JOBS = {"geometry": "service:GeometryJob"}
