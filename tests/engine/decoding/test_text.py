"""The text that decoders learn from, and the pieces that it is cut into."""

import doctest

import pytest

from tests.fakes.decoders import known_sentences
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decoding import text
from theodolite.engine.decoding.vocabulary import BEGIN, END, Vocabulary


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
