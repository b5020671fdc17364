"""The spec language: what it reads, what it writes, and what it says when it cannot."""

from pathlib import Path

import pytest

from theodolite.engine.encoders.spec import SourceSpec, StepSpec, parse
from theodolite.engine.errors import UserError


def test_the_example_of_the_design():
    """Source, option and steps end up in their places."""
    spec = parse("hf:bert-base-uncased?pooling=avg_first_last | whiten:nli,256 | normalise")
    assert spec.sources == (
        SourceSpec("hf", "bert-base-uncased", (("pooling", "avg_first_last"),)),
    )
    assert spec.steps == (StepSpec("whiten", 256, "nli"), StepSpec("normalise"))


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
    """The canonical form reads back as itself."""
    assert str(parse(written)) == canonical
    assert parse(canonical) == parse(written)
    assert str(parse(canonical)) == canonical


def test_a_relative_path_becomes_absolute():
    """So that a worker started elsewhere finds the same folder."""
    assert parse("dir:models/x").sources[0].value == str(Path.cwd() / "models" / "x")


def test_knows_whether_it_needs_a_task():
    """Only `@task` does."""
    assert parse("minilm | whiten:@task").needs_task
    assert not parse("minilm | whiten:nli").needs_task


@pytest.mark.parametrize(
    ("written", "names", "suggests"),
    [
        ("", "empty", "minilm"),
        ("minillm", "minillm", "'minilm'"),
        ("bert-base-uncased", "bert-base-uncased", "hf:bert-base-uncased"),
        ("minilm + ", "missing", "%2B"),
        ("minilm:x", "minilm:x", "minilm"),
        ("hf:", "hf:", "hf:ID"),
        ("random:many", "many", "whole number"),
        ("random:0", "'0'", "16384"),
        ("api:http://x#m", "to x", "https"),
        ("api:https://x/v1", "https://x/v1", "URL#MODEL"),
        ("api:https://x/v1#m?pooling=avg", "pooling", "dimensions"),
        ("api:https://x/v1#m?dimensions=0", "'0'", "whole number"),
        ("api:https://x/v1#m?prompt=@task", "prompts of its own", "Write them out"),
        ("hf:a/b?poling=avg", "poling", "'pooling'"),
        ("hf:a/b?pooling=avg_frist_last", "avg_frist_last", "'avg_first_last'"),
        ("hf:a/b?pooling=cls", "cls", "cls_token"),
        ("dir:/x?pooling=cls", "cls", "pooler_output"),
        ("hf:a/b?layer=first", "first", "whole number"),
        ("hf:a/b?dtype=int4", "int4", "bfloat16"),
        ("hf:a/b?layer=1&layer=2", "layer", "twice"),
        ("wordllama?pooling=cls", "cls", "hier"),
        ("wordllama?pooling=geem&data=x", "geem", "'gem'"),
        ("wordllama?dtype=float16", "dtype", "pooling, data, window"),
        ("wordllama?data=starter", "data", "pooling=sif or gem"),
        ("random:8?pooling=sif&window=3", "window", "pooling=hier or gem"),
        ("wordllama?pooling=hier&window=0", "'0'", "whole number"),
        ("wordllama?pooling=gem&data=@task", "@task", "common:1,@task"),
        ("borep:8?pooling=sif", "sif", "hier"),
        ("wordllama?pooling=sif", "needs a data set", "?pooling=sif&data=DATA"),
        ("words:x?pooling=gem", "needs a data set", "?pooling=gem&data=DATA"),
        ("hf:a/b?pooling=gem", "gem", "avg_top2"),
        ("vectors:", "vectors:", "vectors:FILE"),
        ("vectors:x.npy?pooling=avg", "pooling", "text, vector"),
        ("minilm | common:1", "common:1", "common:k,DATA"),
        ("minilm | normalize", "normalize", "'normalise'"),
        ("minilm | whiten", "whiten", "whiten:DATA[,k]"),
        ("minilm | dims:8", "dims:8", "dims:k,random,SEED"),
        ("minilm | quantise:int8", "quantise:int8", "quantise:int8,DATA"),
        ("minilm | center:", "center", "@task"),
        ("minilm | drop:two,nli", "two", "whole number"),
        ("minilm |", "Unknown step ''", "normalise"),
        ("dir:caf\udce9", "half a character", "UTF-8"),
    ],
)
def test_errors_name_the_piece_and_say_what_to_do(written, names, suggests):
    """Every mistake is a sentence with a way out."""
    with pytest.raises(UserError) as caught:
        parse(written)
    assert names in caught.value.message
    assert suggests in str(caught.value)
