"""The spec language: what it reads, what it writes, and what it says when it cannot."""

from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.engine.encoders.spec import parse
from theodolite.engine.encoders.variants import at_size, baseline, ladder


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (" minilm ", "minilm"),
        ("minilm+wordllama|normalise", "minilm + wordllama | normalise"),
        ("random:0256", "random:256"),
        (
            "api:https://API.x/v1/embeddings#a/b:c?tpm=9&prompt=d%2B",
            "api:https://api.x/v1#a/b:c?prompt=d%2B&tpm=9",
        ),
        ("hf:a/b?layer=2&pooling=avg", "hf:a/b?pooling=avg&layer=2"),
        ("hf:a/b?prompt=query%3A ", "hf:a/b?prompt=query:"),
        ("hf:a/b?prompt=query%3A%20", "hf:a/b?prompt=query:%20"),
        ("hf:a/b?query_prompt=&prompt=", "hf:a/b?prompt=&query_prompt="),
        ("dir:/a b/c%2Bd", "dir:/a b/c%2Bd"),
        ("words:/v/../x%7Cy.txt", "words:/x%7Cy.txt"),
        ("minilm|whiten:hub:a/b@v/f.csv?col=x,3", "minilm | whiten:hub:a/b@v/f.csv%3Fcol%3Dx,3"),
        ("minilm|dims:8, first|quantise:binary", "minilm | dims:8,first | quantise:binary"),
        ("minilm|quantise:int8,a b", "minilm | quantise:int8,a b"),
        ("minilm|dims:8,random,7|dims:4,pca,@task", "minilm | dims:8,random,7 | dims:4,pca,@task"),
        ("minilm | drop:2,nli|center:nli", "minilm | drop:2,nli | center:nli"),
        ("borep:64?pooling=avg&words=/w.txt", "borep:64?words=/w.txt&pooling=avg"),
        ("random:08?window=3&pooling=hier", "random:8?pooling=hier&window=3"),
        (
            "wordllama?data=a b&pooling=sif|common:1,a b",
            "wordllama?pooling=sif&data=a b | common:1,a b",
        ),
        ("vectors:/v.parquet?vector=e&text=s", "vectors:/v.parquet?text=s&vector=e"),
    ],
)
def test_one_encoder_has_one_name(written, canonical):
    """The canonical form reads back as itself, and alone it needs a task if it says so."""
    assert str(parse(written)) == canonical
    assert parse(canonical) == parse(written)
    assert parse(written).needs_task == ("@task" in canonical)


def test_a_relative_path_becomes_absolute():
    """So that a worker started elsewhere finds the same folder."""
    assert parse("dir:models/x").sources[0].value == str(Path.cwd() / "models" / "x")


@pytest.mark.parametrize(
    ("written", "named", "suggests", "code"),
    [
        ("", "empty", "minilm", "missing"),
        ("minillm", "minillm", "'minilm'", "unknown"),
        ("bert-base-uncased", "bert-base-uncased", "hf:bert-base-uncased", "unknown"),
        ("minilm + ", "missing", "%2B", "missing"),
        ("dir:models/a+b", "'b'", "%2B", "unknown"),
        ("minilm:x", "minilm:x", "minilm", "invalid"),
        ("hf:", "hf:", "hf:ID", "invalid"),
        ("random:many", "many", "whole number", "invalid"),
        ("random:0", "'0'", "16384", "invalid"),
        ("api:http://x#m", "to x", "https", "denied"),
        ("api:https://x/v1", "https://x/v1", "URL#MODEL", "invalid"),
        ("api:https://x/v1#m?pooling=avg", "pooling", "dimensions", "unknown"),
        ("api:https://x/v1#m?dimensions=0", "'0'", "whole number", "invalid"),
        ("api:https://x/v1#m?prompt=@task", "prompts of its own", "Write them out", "invalid"),
        ("hf:a/b?poling=avg", "poling", "'pooling'", "unknown"),
        ("hf:a/b?pooling=avg_frist_last", "avg_frist_last", "'avg_first_last'", "unknown"),
        ("hf:a/b?pooling=cls", "cls", "cls_token", "ambiguous"),
        ("dir:/x?pooling=cls", "cls", "pooler_output", "ambiguous"),
        ("hf:a/b?layer=first", "first", "whole number", "invalid"),
        ("hf:a/b?dtype=int4", "int4", "bfloat16", "unknown"),
        ("hf:a/b?layer=1&layer=2", "layer", "twice", "invalid"),
        ("wordllama?pooling=cls", "cls", "hier", "unknown"),
        ("wordllama?pooling=geem&data=x", "geem", "'gem'", "unknown"),
        ("wordllama?dtype=float16", "dtype", "pooling, data, window", "unknown"),
        ("wordllama?data=starter", "data", "pooling=sif or gem", "conflict"),
        ("random:8?pooling=sif&window=3", "window", "pooling=hier or gem", "conflict"),
        ("wordllama?pooling=hier&window=0", "'0'", "whole number", "invalid"),
        ("wordllama?pooling=gem&data=@task", "@task", "common:1,@task", "invalid"),
        ("borep:8?pooling=sif", "sif", "hier", "unknown"),
        ("wordllama?pooling=sif", "needs a data set", "?pooling=sif&data=DATA", "missing"),
        ("words:x?pooling=gem", "needs a data set", "?pooling=gem&data=DATA", "missing"),
        ("hf:a/b?pooling=gem", "gem", "avg_top2", "unknown"),
        ("vectors:", "vectors:", "vectors:FILE", "invalid"),
        ("vectors:x.npy?pooling=avg", "pooling", "text, vector", "unknown"),
        ("minilm | common:1", "common:1", "common:k,DATA", "invalid"),
        ("minilm | normalize", "normalize", "'normalise'", "unknown"),
        ("minilm | whiten", "whiten", "whiten:DATA[,k]", "invalid"),
        ("minilm | dims:8", "dims:8", "dims:k,random,SEED", "invalid"),
        ("minilm | quantise:int8", "quantise:int8", "quantise:int8,DATA", "invalid"),
        ("minilm | center:", "center", "@task", "invalid"),
        ("minilm | drop:two,nli", "two", "whole number", "invalid"),
        ("minilm |", "Unknown step ''", "normalise", "unknown"),
        ("dir:caf\udce9", "surrogate", "UTF-8", "invalid"),
        ("y" * 5000, "yyy…yyy", "hf:yyy", "unknown"),
        ("minilm" + " + minilm" * 700 + " + you", "you", "%2B", "unknown"),
    ],
)
def test_mistakes_name_the_piece_and_say_what_to_do(written, named, suggests, code):
    with refused(code, named, suggests) as caught:
        parse(written)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("sizes", [[16, 32, 64, 128, 256, 300], [16, 32, 64, 128, 256], [16], [10]])
def test_sizes_double_up_to_the_full_one(sizes: list[int]) -> None:
    """Powers of two from 16, then whatever the encoder has."""
    assert ladder(sizes[-1]) == sizes


def test_an_encoder_at_a_size_is_a_spec() -> None:
    """That can be read; at its own size it is itself."""
    for given, expected in (
        (("wordllama", 256, 64, "pca"), "wordllama | dims:64,pca,@task"),
        (("wordllama|normalise", 256, 64, "random"), "wordllama | normalise | dims:64,random,1111"),
        (("random:64", 64, 64, "pca"), "random:64"),
    ):
        assert str(parse(at_size(*given))) == at_size(*given) == expected
    with refused("too-large", 64, 128):
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
