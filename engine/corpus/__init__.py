"""Corpora of any size: split into shards, encoded shard by shard, read in place.

    cut.json                the cut: which sentences are in which shard
    shards/HASH.txt         sentences of a shard, one a line, named by their SHA-256
    shards/HASH.npy         their vectors, (n, dim); or HASH.parquet with both, and no HASH.txt
    shards/HASH.keys        16 bytes a sentence, by which it is found
    shards/HASH.json        what is known of the shard, written last: with it, the shard is done
    manifest.json           encoder and shards in order; there once every shard is done

Every file is complete before it has its name, and what has a name is never written again. So a
killed run loses the shard it was at, and two that work on one folder only do something twice.
"""
