"""The encoders that are kept, and what is encoded by them."""

JOBS = {"encode-corpus": "corpus:EncodeCorpusJob", "encode-shard": "shard:EncodeShardJob"}
