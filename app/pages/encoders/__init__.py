"""The listed encoders, and encoding with them."""

JOBS = {"encode-corpus": "corpus:EncodeCorpusJob", "encode-shard": "shard:EncodeShardJob"}
