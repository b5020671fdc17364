"""Encoders compared by your own judgements."""

QUESTIONS = {"judge status": "answer:STATUS"}
JOBS = {"judge": "job:JudgeJob", "second-judge": "job:SecondJudgeJob"}
