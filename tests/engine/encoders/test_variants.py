"""Encoders at other sizes, and baselines known by their spec."""

from __future__ import annotations

import pytest

from theodolite.engine.encoders.spec import parse
from theodolite.engine.encoders.variants import at_size, baseline, ladder
from theodolite.engine.errors import UserError


def test_sizes_double_up_to_the_full_one() -> None:
    """Powers of two from 16, then whatever the encoder has."""
    assert ladder(300) == [16, 32, 64, 128, 256, 300]
    assert ladder(256) == [16, 32, 64, 128, 256]
    assert ladder(16) == [16]
    assert ladder(10) == [10]


def test_an_encoder_at_a_size_is_a_spec() -> None:
    """That can be read; at its own size it is itself."""
    assert at_size("wordllama", 256, 64, "pca") == "wordllama | dims:64,pca,@task"
    assert at_size("wordllama|normalise", 256, 64, "random") == (
        "wordllama | normalise | dims:64,random,1111"
    )
    assert at_size("random:64", 64, 64, "pca") == "random:64"
    assert parse(at_size("wordllama", 256, 64, "pca")).steps[-1].k == 64
    with pytest.raises(UserError, match="has 64 dimensions, 128"):
        at_size("random:64", 64, 128, "pca")


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("random:256", "random"),
        ("borep:4096?words=wordllama", "random"),
        ("wordllama", "bag-of-words"),
        ("wordllama?pooling=pmean | normalise", "bag-of-words"),
        ("words:/glove.txt?pooling=sif", "bag-of-words"),
        ("wordllama?pooling=hier", ""),
        ("minilm", ""),
        ("minilm + wordllama", ""),
    ],
)
def test_baselines_are_known_by_their_source(spec: str, kind: str) -> None:
    """Random vectors, and averages that do not see the order of words."""
    assert baseline(spec) == kind
