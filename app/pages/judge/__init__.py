"""Encoders compared by your own judgements."""

JOBS = {"judge": "job:JudgeJob", "second-judge": "second:SecondJudgeJob"}
