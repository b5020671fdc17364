"""Decoding that is held to the words of the training text."""

import doctest
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.errors import refused
from tests.fakes.decoders import known_sentences, small_spec
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders, text
from theodolite.engine.decoding.generate import beam, greedy, sample
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.decoding.vocabulary import (
    BEGIN,
    END,
    KnownWords,
    Vocabulary,
    coverage,
    words_of,
)

ODD = [
    "She didn't see the dog's 19th bone.",
    "Ana paid £ 40 at the café (twice)!",
    "('But why?')",
    "“Rock'n'roll,” he said – in the 1980's.",
    "The O'Neils' house, O’Hare and the well-known S.",
]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """Of the starter set and some odd sentences, with their words."""
    sentences = [*read_topics().sentences, *ODD]
    return Vocabulary(Vocabulary.learn(sentences, 600).tokenizer, words_of(sentences))


@pytest.fixture(scope="module")
def known(vocabulary: Vocabulary) -> KnownWords:
    """Its words."""
    return vocabulary.known_words


def allowed(known: KnownWords, beginning: str) -> set[int]:
    """Tokens that may follow."""
    held = known.hold(torch.zeros(1, len(known._parts)), [beginning])
    return set(held[0].isfinite().nonzero()[:, 0].tolist())


def strange(sentence: str, words: set[str]) -> set[str]:
    """Words of a sentence that are not among the known."""
    return set(words_of([sentence])) - words


def test_words_are_runs_of_letters() -> None:
    """By hand: no possessive, digits as one, marks apart but those that are not ASCII."""
    assert words_of(["The dog's 19th and 20th bone, don't!", "THE £ O’Hare well-known 1980"]) == [
        "0th",
        "and",
        "bone",
        "dog",
        "don't",
        "known",
        "o’hare",
        "the",
        "well",
        "£",
    ]
    for words, texts, share in ((["the", "dog"], ["The cat", "a dog"], 0.5), ([], ["1980!"], 1.0)):
        assert coverage(words, texts) == share


def test_all_that_is_known_can_be_written(vocabulary: Vocabulary, known: KnownWords) -> None:
    """Every sentence of the text, token by token, to its end."""
    for ids in vocabulary.ids([*read_topics().sentences[::7], *ODD]):
        beginning = ""
        for token in ids[1:].tolist():
            assert token in allowed(known, beginning), vocabulary.text(ids.tolist())
            beginning = known.after(beginning, token)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_else_can_be_written(vocabulary: Vocabulary, known: KnownWords, seed: int) -> None:
    """Whoever takes any of the tokens that may follow writes known words, and can always go on."""
    rng, words = np.random.default_rng(seed), set(known.words)
    for _ in range(20):
        ids, beginning = [], ""
        while END not in ids and len(ids) < 60:
            ids.append(int(rng.choice(sorted(allowed(known, beginning)))))
            beginning = known.after(beginning, ids[-1])
        if ids[-1] == END:
            assert not strange(vocabulary.text(ids), words)


def test_a_word_ends_where_it_is_whole(vocabulary: Vocabulary, known: KnownWords) -> None:
    """'didn' and 'o' are none, 'did' and "o'neils" are; a possessive follows a word alone."""
    token = vocabulary.tokenizer.token_to_id
    beginnings = ("did", "o'neils", "dog's", "0", "", "didn", "o'n", "dog's'", "zzq")
    assert [END in allowed(known, one) for one in beginnings] == [True] * 5 + [False] * 4
    assert token("'s") in allowed(known, "dog") - allowed(known, "didn")
    for piece, after in (("'s", "dog's"), ("1", "0"), (",", "")):
        assert known.after("dog", token(piece)) == after


@torch.no_grad()
@pytest.mark.parametrize("architecture", ["prefix", "lstm"])
def test_every_method_is_held(vocabulary: Vocabulary, known: KnownWords, architecture: str) -> None:
    """A decoder with weights of chance writes what is none, and held to words it does not."""
    torch.manual_seed(5)
    sizes = {"width": 8, "layers": 1, "positions": 40}
    model = folders.steps_of(folders.build(architecture, 4, len(vocabulary), sizes).eval())
    vectors = torch.randn(6, 4)

    def written(words: KnownWords | None) -> set[str]:
        drawn = sample(model, vectors, 30, generator=torch.Generator().manual_seed(1), words=words)
        beams = itertools.chain(*beam(model, vectors, 30, width=3, words=words))
        found = [*greedy(model, vectors, 30, words=words), *drawn, *beams]
        text = " ".join(vocabulary.text(one.ids) for one in found if one.ended)
        return strange(text, set(known.words))

    assert written(None) and not written(known)


@torch.no_grad()
def test_a_score_counts_all_tokens_held_or_not(vocabulary: Vocabulary, known: KnownWords) -> None:
    """By teacher forcing, which the beam does not use."""
    torch.manual_seed(2)
    plain = folders.build("prefix", 4, len(vocabulary), {"width": 8, "positions": 8}).eval()
    vector = torch.randn(1, 4)
    (found,) = beam(folders.steps_of(plain), vector, 5, width=20, words=known)
    ended = [one for one in found if one.ended]
    assert len(ended) > 3
    for ids, score in ((one.ids, one.score) for one in ended):
        logits = plain.logits(plain.states(vector, torch.tensor([[BEGIN, *ids]])))[0]
        logits[:, :END] = -torch.inf
        chances = logits.log_softmax(-1).gather(1, torch.tensor([*ids, END])[:, None])
        assert score == pytest.approx(float(chances.sum()) / ((6 + len(ids)) / 6), abs=1e-4)


@pytest.fixture
def held(decoder_folder: Path, tmp_path: Path) -> Path:
    """The decoder with its words."""
    model, vocabulary, facts = folders.read(decoder_folder)
    assert vocabulary.known_words is None
    words = vocabulary.knowing(known_sentences(), known_sentences())
    folders.write(tmp_path / "held", model, words, facts)
    return tmp_path / "held"


def test_words_lie_beside_the_decoder(decoder_folder: Path, held: Path) -> None:
    """Written, read, on the card, in the fingerprint; lifted it says what it said without."""
    words = words_of(known_sentences())
    decoder, before = open_decoder(held), open_decoder(decoder_folder)
    assert decoder.vocabulary.known_words.words == words
    assert decoder.fingerprint != before.fingerprint
    assert f"only the {len(words)} words" in (held / "README.md").read_text()
    points = np.random.default_rng(0).normal(0, 0.5, (12, 64)).astype(np.float32)
    free = [one.sentence for one in decoder.decode(points, known_words=False)]
    assert free == [one.sentence for one in before.decode(points)]
    assert any(strange(one, set(words)) for one in free)
    assert not any(
        strange(one.sentence, set(words)) for one in decoder.decode(points) if not one.cut
    )


def test_words_that_are_damaged_are_told(held: Path) -> None:
    """Missing, cut short, or another number of them."""
    file = held / folders.WORDS
    for damaged in (b"", file.read_bytes()[:40], b"[1, 2]"):
        file.write_bytes(damaged)
        with refused("damaged", "held"):
            open_decoder(held)
    file.unlink()
    with refused("no-file", "words.txt.gz"):
        open_decoder(held)


def test_a_training_keeps_words_that_new_text_has(tmp_path: Path) -> None:
    """Where nine of ten of the held-out words are known, and not where fewer are."""
    lines = [" ".join(row) + "." for row in itertools.product("ab", "cd", "efgh", "ij", "klmn")]
    (tmp_path / "few.txt").write_text("\n".join(lines))
    for name, train in (("held", str(tmp_path / "few.txt")), ("free", "starter")):
        list(train_decoder(small_spec(tmp_path / name, train=(train,), epochs=0.2)))
        words = open_decoder(tmp_path / name).vocabulary.known_words
        assert (words is not None) == (name == "held")


# --- the text that decoders learn from, and the pieces that it is cut into ---


def test_the_examples_in_the_documentation_hold() -> None:
    """They are run."""
    assert doctest.testmod(text).failed == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("It cost $ 5 ( or less ) , he said .", "It cost $5 (or less), he said."),
        ('She said " Go ! " and left .', 'She said "Go!" and left.'),
        ("they 've seen the cats ' tails", "they've seen the cats ' tails"),
        ("  two\tspaces  ", "two spaces"),
        ("`` Yes , '' he said", '"Yes," he said'),
        ("Nothing to do here.", "Nothing to do here."),
    ],
)
def test_the_spaces_of_a_tokenizer_are_taken_back(line: str, said: str) -> None:
    """As one writes it; tidied again it stays."""
    assert text.tidy(line) == text.tidy(said) == said


def test_a_corpus_is_of_distinct_sentences_of_few_words() -> None:
    """Long ones are cut at their marks or left out; lines without a letter are none."""
    lines = ["A short one.", "a b c d e f, g h i j k", "", "1 2 3", "A short one .", "x y z, w"]
    assert text.corpus(lines, most=5) == ["A short one.", "g h i j k", "x y z, w"]
    assert text.corpus(lines, most=5, cut=False) == ["A short one.", "x y z, w"]


def test_every_text_comes_back_as_it_was() -> None:
    """Also with digits, which are pieces of their own, letters never seen, and no space at all."""
    vocabulary = Vocabulary.learn(known_sentences(), 400)
    unseen = ["In 1984, x2y cost €5.", "Zwölf 漢字 😀", "two  spaces", "42", "<s> </s> <pad>"]
    for sentence in [*read_topics().sentences[:300], *unseen]:
        ids = vocabulary.ids([sentence])[0].tolist()
        assert (ids[0], ids[-1]) == (BEGIN, END)
        assert vocabulary.text(ids) == sentence
    pieces = [vocabulary.tokenizer.id_to_token(i) for i in vocabulary.ids(["year 1984"])[0]]
    assert pieces[-5:-1] == ["1", "9", "8", "4"]
