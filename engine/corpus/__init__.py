"""Corpora of any size: split into shards, encoded shard by shard, read in place.

    cut.json                the cut: which sentences are in which shard
    shards/HASH.txt         sentences of a shard, one a line, named by their SHA-256
    shards/HASH.npy         their vectors, (n, dim); or HASH.parquet with both, and no HASH.txt
    shards/HASH.keys        16 bytes per sentence, by which it is looked up
    shards/HASH.json        facts on the shard, written last: it marks the shard as done
    manifest.json           encoder and shards in order; written once every shard is done

Every file is written under a temporary name and renamed when complete, and shards are never written
again. So a killed run loses only its current shard, and two runs in one folder only repeat work.
"""
