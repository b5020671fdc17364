"""A script as people have them, written for SentEval; and small data of its layout."""

from pathlib import Path

import numpy as np

from tests.fakes.folder import files

BAG_OF_WORDS = """
import json, sys
import numpy as np

# import SentEval
sys.path.insert(0, "../")
import theodolite.engine.senteval as senteval

DIM = 24

def prepare(params, samples):
    words = sorted({word for sample in samples for word in sample})
    params.word_vec = {}
    for word in words:
        seed = int.from_bytes(word.encode(), "little") % 2**32
        params.word_vec[word] = np.random.RandomState(seed).randn(DIM)
    params.wvec_dim = DIM
    return

def batcher(params, batch):
    batch = [sent if sent != [] else ["."] for sent in batch]
    embeddings = []
    for sent in batch:
        sentvec = [params.word_vec[word] for word in sent if word in params.word_vec]
        if not sentvec:
            sentvec.append(np.zeros(params.wvec_dim))
        embeddings.append(np.mean(sentvec, 0))
    return np.vstack(embeddings)

params_senteval = {"task_path": sys.argv[1], "usepytorch": True, "kfold": 5}
params_senteval["classifier"] = {"nhid": 0, "optim": "rmsprop", "batch_size": 128,
                                 "tenacity": 3, "epoch_size": 2}

if __name__ == "__main__":
    se = senteval.engine.SE(params_senteval, batcher, prepare)
    results = se.eval(sys.argv[2:])
    json.dump(results, sys.stdout, default=lambda value: np.asarray(value).tolist())
"""


WORDS = "a the cat dog man plays runs eats big small green fish with without park".split()


def small_data(folder: Path) -> Path:
    """Write a data folder of SentEval's layout, with a few random sentences a file."""
    rng = np.random.default_rng(5)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(2, 9)))

    def scores(n: int, low: int) -> list[str]:
        return [f"{score:.2f}" for score in rng.uniform(low, 5, n)]

    lines: dict[str, list[str]] = {}
    for subset in ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"):
        gold = [*scores(2, 0), "", *scores(int(rng.integers(5, 17)), 0)]  # the third has no score
        lines[f"STS/STS12-en-test/STS.gs.{subset}.txt"] = gold
        lines[f"STS/STS12-en-test/STS.input.{subset}.txt"] = [
            f"{sentence()}\t{sentence()}" for _ in gold
        ]
    for split in ("train", "dev", "test"):
        lines[f"STS/STSBenchmark/sts-{split}.csv"] = [
            f"g\tf\ty\t1\t{y}\t{sentence()}\t{sentence()}" for y in scores(40, 1)
        ]
    for sign, word in (("pos", "good"), ("neg", "bad")):
        lines[f"MR/rt-polarity.{sign}"] = [f"{sentence()} {word}" for _ in range(40)]
    for split, n in (("train", 60), ("test", 20)):
        lines[f"MRPC/msr_paraphrase_{split}.txt"] = [
            "Quality\t1\t2\ts1\ts2",
            *(f"{i % 2}\t1\t2\t{sentence()}\t{sentence()}" for i in range(n)),
        ]
    files(folder / "downstream", {name: "\n".join([*some, ""]) for name, some in lines.items()})
    return folder
