"""Encoders compared by one's own judgements."""

JOBS = {"judge": "job:JudgeJob", "second-judge": "second:SecondJudgeJob"}
