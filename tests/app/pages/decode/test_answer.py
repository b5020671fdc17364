"""What a card says beside the sentence that was decoded."""

from theodolite.app.pages.decode.answer import limits, no_decoder, word_diff_of
from theodolite.app.pages.decode.service import DecodeResult, NoDecoder
from theodolite.engine.decoding.differing import differing

WORDS = tuple(differing("the old dog", "the dog"))


def test_a_sentence_with_words_that_the_decoder_never_saw_is_named_so():
    """A few are listed; of many it is said that the language may be another."""
    ((tag, text),) = limits(DecodeResult("minilm", given=6, unseen=("zyx",)))
    assert (tag, text) == ("unseen", "Not in this decoder's training text: zyx.")
    ((_, text),) = limits(DecodeResult("minilm", given=4, unseen=("alte", "hund")))
    assert "another language" in text
    ((tag, _),) = limits(DecodeResult("minilm", given=20, known=14, cut=True))
    assert tag == "cut"


def test_the_diagnosis_stands_beside_a_round_trip():
    """With its figure if the decoder is diagnosed; not beside a point."""
    known = word_diff_of(DecodeResult("minilm", words=WORDS, token_f1=0.51)).link
    assert known is not None
    assert (known.page, known.label[-4:]) == ("diagnose", "0.51")
    assert word_diff_of(DecodeResult("minilm", words=WORDS)).link is not None
    assert word_diff_of(DecodeResult("minilm")).link is None


def test_a_visitor_is_not_sent_to_train_a_decoder():
    """Who may train one is told how long it takes."""
    error = NoDecoder("minilm has no decoder yet.")
    error.took = "about 3 h"
    assert no_decoder("minilm", error).link is not None
    assert "about 3 h" in no_decoder("minilm", error).hint
    error.trains = False
    assert no_decoder("minilm", error).link is None
