"""The protocol of a diagnosis: how well a decoder reconstructs held-out sentences.

The numbers on a card are those of `engine.decoding`; a test compares them.
"""

from theodolite.engine.protocols.protocol import Protocol

VEC2SENT = Protocol(
    name="vec2sent",
    description="What a decoder gives back of sentences from their vectors, beside two baselines.",
    types=("decoding",),
    seed=1111,
    choices=(
        (
            "sentences",
            "held out from the decoder's training by whoever names them; those it "
            "learned from are counted and noted",
        ),
        (
            "decoding",
            "beam of 5 by log-probability over ((5 + pieces) / 6), END a piece; of the "
            "candidates, the one whose own vector has the highest cosine to the given one",
        ),
        (
            "baseline: nearest training sentence",
            "by cosine, of the sentences it learned from or those named in their place",
        ),
        (
            "baseline: another sentence's vector",
            "what was decoded for another of the sentences, drawn by the seed",
        ),
        ("words", "lower case, marks apart (sacrebleu's 13a); digits kept"),
        ("Id", "share of sentences with the same words in the same order"),
        ("PERM", "share with the same words in any order, the right one included"),
        ("Id/PERM", "Id over PERM; none where PERM is 0"),
        ("BLEU", "sacrebleu, corpus, lower case, 13a, exponential smoothing"),
        (
            "bleu-ref",
            "BLEU of the words as the paper's code got it: all lines glued to one "
            "sentence without spaces between them, not smoothed",
        ),
        (
            "mover-…",
            "1 minus the exact optimal transport of the words, each weighing the same, by "
            "squared distance of unit vectors; one vector a word, from the encoder in its name; "
            "times 100; can be negative",
        ),
        ("token F1", "of the bags of words, mean of sentences (main)"),
        ("round trip", "cosine of the vector of what came back to the given one, mean"),
        (
            "intervals",
            "95 %, percentile bootstrap over sentences, 1,000 resamples by the seed "
            "(bleu-ref: jackknife without each of 100 groups of sentences, and none by length); "
            "one that is a single point says only that all sentences were alike",
        ),
        ("length", "words between spaces: 1 to 4, 5 to 7, 8 to 10, 11 to 14, 15 or more"),
        ("vectors with NaN", "an error"),
    ),
    sources=(
        "Kerscher, Eger 2020, Vec2Sent, sections 2 and 3",
        "maruker/vec2sent, src/vec2sent/evaluation",
        "Post 2018, sacrebleu; Zhao et al. 2019, MoverScore",
    ),
    context=(
        (
            "Vec2Sent",
            "News Crawl 2008, the first 1,000 sentences of at most 14 tokens; its own "
            "beam, by the mean probability of a piece; no baselines; MOVER from BERT",
        ),
    ),
)
