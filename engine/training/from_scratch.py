"""A BERT with random weights and its own vocabulary, learned from the training sentences.

    new:layers=4,hidden=256,heads=4,vocab=8000

The vocabulary is learned by WordPiece (Schuster and Nakajima 2012, as in BERT) from the sentences
alone, in any language. The same sentences and seed give the same model everywhere.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from theodolite.engine.encoders.source import clean
from theodolite.engine.errors import UserError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
DEFAULTS = {"layers": 4, "hidden": 256, "heads": 4, "vocab": 8000, "positions": 512}
_LIMITS = {
    "layers": (1, 48),
    "hidden": (8, 4096),
    "heads": (1, 64),
    "vocab": (50, 200_000),
    "positions": (8, 8192),
}
_PREFIX = "##"


def shape_of(base: str) -> dict[str, int]:
    """Parse `new:layers=…,hidden=…,heads=…,vocab=…`; missing numbers take their defaults."""
    shape = dict(DEFAULTS)
    for piece in filter(None, base.removeprefix("new:").split(",")):
        name, _, value = (part.strip() for part in piece.partition("="))
        low, high = _LIMITS.get(name, (0, -1))
        if not value.isdecimal() or not low <= int(value) <= high:
            known = ", ".join(f"{n} from {a} to {b}" for n, (a, b) in _LIMITS.items())
            raise UserError(f"'{piece}' in '{base}' cannot be read.", f"Available: {known}.")
        shape[name] = int(value)
    if shape["hidden"] % shape["heads"]:
        raise UserError(
            f"{shape['heads']} heads do not divide a width of {shape['hidden']} in '{base}'.",
            "Give a width that is a multiple of the heads.",
            code="mismatch",
        )
    return shape


def learn_tokenizer(sentences: Iterable[str], size: int, limit: int) -> Any:
    """Learn a WordPiece vocabulary.

    Args:
        sentences: read twice; lower-cased, accents kept.
        size: maximum number of entries, special tokens included.
        limit: maximum sequence length of the model, in tokens.

    Returns:
        A `PreTrainedTokenizerFast` with BERT's special tokens.
    """
    from tokenizers import Tokenizer, decoders, models, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {piece: i for i, piece in enumerate(_pieces(sentences, size))}
    core = Tokenizer(
        models.WordPiece(
            vocabulary,
            unk_token=SPECIAL[1],
            continuing_subword_prefix=_PREFIX,
            max_input_chars_per_word=100,
        )
    )
    core.normalizer, core.pre_tokenizer = _words()
    core.decoder = decoders.WordPiece(prefix=_PREFIX)
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        model_max_length=limit,
        **{f"{name}_token": text for name, text in names.items()},
    )


def bert_config(shape: dict[str, int], vocabulary: int) -> Any:
    """A `BertConfig`; the feed-forward layers are four times as wide as the others."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=shape["hidden"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        intermediate_size=4 * shape["hidden"],
        max_position_embeddings=shape["positions"],
    )


class SentenceIterator(Iterable[str]):
    """Every sentence of training examples; can be iterated over repeatedly."""

    def __init__(self, examples: Iterable[tuple[str, ...]]) -> None:
        self.examples = examples

    def __iter__(self) -> Iterator[str]:
        """Yield one sentence at a time, never holding all in memory."""
        for example in self.examples:
            for sentence in example:
                yield clean(sentence)


def _pieces(sentences: Iterable[str], size: int) -> list[str]:
    """The vocabulary in order.

    The trainer of `tokenizers` numbers letters in the order of a hash table, which differs from run
    to run and decides ties. All letters, word-initial and continuing, are therefore given to it in
    a fixed order, as special tokens, which it numbers first.
    """
    from tokenizers import Tokenizer, models, trainers

    letters = _letters(sentences, size // 4)
    if not letters:
        raise UserError(
            "The training sentences hold no letter to learn a vocabulary from.",
            "Give sentences.",
            code="too-few",
        )
    known = [*SPECIAL, *letters, *(_PREFIX + letter for letter in letters)]
    learner = Tokenizer(models.WordPiece(unk_token=SPECIAL[1]))
    learner.normalizer, learner.pre_tokenizer = _words()
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(size, len(known)),
        min_frequency=2,
        show_progress=False,
        special_tokens=known,
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        continuing_subword_prefix=_PREFIX,
    )
    learner.train_from_iterator(sentences, trainer)
    vocabulary = learner.get_vocab(with_added_tokens=False)
    return sorted(vocabulary, key=lambda piece: vocabulary[piece])


def _letters(sentences: Iterable[str], most: int) -> list[str]:
    """The most frequent characters of the normalised text; ties in order of code point."""
    normalise = _words()[0].normalize_str
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(normalise(sentence))
    letters = [letter for letter in counts if not letter.isspace()]
    return sorted(letters, key=lambda letter: (-counts[letter], letter))[:most]


def _words() -> tuple[Any, Any]:
    """BERT's normaliser and word splitter; accents stay, which many languages need."""
    from tokenizers import normalizers, pre_tokenizers

    normaliser = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    return normaliser, pre_tokenizers.BertPreTokenizer()
