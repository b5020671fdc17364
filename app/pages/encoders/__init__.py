"""The listed encoders, and encoding with them."""

QUESTIONS = {
    "encoders audit": "checks:AUDIT",
    "encoders coverage": "checks:COVERAGE",
    "encoders thresholds": "thresholds:THRESHOLDS",
}
JOBS = {"encode-corpus": "corpus:EncodeCorpusJob", "encode-shard": "corpus:EncodeShardJob"}
