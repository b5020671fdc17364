"""Whether a comparison of encoders is fair."""

QUESTIONS = {"fair": "answer:FAIR"}
