"""Files of word vectors as people have them."""

import bz2
import gzip
import io
import lzma
import pickle
import struct
import time
import zipfile

import numpy as np
import pytest

from theodolite.engine.encoders import load
from theodolite.engine.encoders.word_file import layout, read_vectors
from theodolite.engine.errors import UserError

GLOVE = b"the 1 2\nship 3 4\nred 0 -1\n"
TABLE = {"the": [1, 2], "ship": [3, 4], "red": [0, -1]}


def zipped(raw):
    """As GloVe is distributed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("glove.txt", raw)
    return file.getvalue()


def saved(array):
    """As np.save writes it."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + GLOVE,
        b"\xef\xbb\xbf3 2\n" + GLOVE,
        gzip.compress(b"\xef\xbb\xbf3 2\n" + GLOVE, mtime=0),
        b"3 2\r\n" + GLOVE.replace(b"\n", b"\r\n"),
        b"3\t2\n" + GLOVE.replace(b" ", b"\t"),
        GLOVE.replace(b" ", b"\t"),
        GLOVE.replace(b" ", b"   "),
        GLOVE + b"\n\n",
        b"4 2\n" + GLOVE + b"ship 9 9\n",
        b"2 2\n" + GLOVE,
    ],
)
def test_marks_separators_and_repeated_words_change_nothing(tmp_path, raw):
    """Byte order mark, CRLF, tabs, aligned columns; a word's first vector counts."""
    file = tmp_path / "v.txt"
    file.write_bytes(raw)
    words, table = read_vectors(file)
    assert {word: table[row].tolist() for word, row in words.items()} == TABLE
    assert load(f"words:{file}").dim == 2


def test_words_may_hold_spaces_and_numbers(tmp_path):
    """As in GloVe's 840B and in files of entities: the numbers are those at the end of a line."""
    file = tmp_path / "v.txt"
    file.write_bytes(b"5 2\n. . . 1 2\nat a@b.com 3 4\n2014 5 6\nworld war 2 7 8\n\xc2\xa0 9 9 \n")
    words, table = read_vectors(file)
    assert list(words) == [". . .", "at a@b.com", "2014", "world war 2", "\xa0"]
    assert table.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 9]]
    file.write_bytes(b"2 2\nworld war 2 7 8\nthe 1 2\n")
    assert list(read_vectors(file)[0]) == ["world war 2", "the"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"3 10\nthe 1:0.2 5:0.3\nship 2:0.1\n", "sparse"),
        (b"the 1:0.2 5:0.3\nship 2:0.1\n", "sparse"),
        (b"the 0,5 1,5\nship 1,0 2,0\n", "decimal commas"),
        (b"2 2\nthe 0,5 1,5\nship 1,0 2,0\n", "decimal commas"),
        (GLOVE.replace(b" ", b","), "separated by `,`"),
        (b"word,x1,x2\n" + GLOVE.replace(b" ", b","), "separated by `,`"),
        (GLOVE.decode().encode("utf-16"), "UTF-16"),
        (GLOVE.decode().encode("utf-16-le"), "UTF-16"),
        (zipped(GLOVE), "ZIP archive"),
        (bz2.compress(GLOVE), "bzip2"),
        (lzma.compress(GLOVE), "xz"),
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00" + bytes(60), "fastText model.*vec"),
        (pickle.dumps({"the": [1, 2]}), "pickle.*save_word2vec_format"),
        (saved(np.ones((2, 2))), "NumPy array.*vectors:"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "Git LFS"),
        (gzip.compress(GLOVE * 50, mtime=0)[:30] + b"\xff" * 60, "damaged|cannot be read"),
        (b"", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"3 2\n", "only a first line that states 3"),
        (b"3 3\n" + GLOVE, "3 dimensions in its first line, but the first vector has 2"),
        (b"3 1\n" + GLOVE, "1 dimensions in its first line, but the first vector has 2"),
        (b"9 2\n" + GLOVE, "states 9 words in its first line and holds 3"),
        (b"2 2\ncat " + struct.pack("<2f", 1, 2), "states 2 words in its first line and holds 1"),
        (b"2 2\ncat " + struct.pack("<2f", 1, np.nan) + b"dog " + bytes(8), "'cat'.*NaN"),
        (b"2 2\n" + bytes(100_000), "no vector after word 1"),
        (b"the 1 2\nship nan 4\nred inf 1\n", r"'ship'.*NaN or infinity.*2 such"),
        (b"the 1 2\nship 1e99 4\n", "'ship'"),
        (b"the " + b"0.1 " * 20_000, "over 16,384 dimensions"),
        (b"the " + b"0.1 " * 300_000, "over 16,384 dimensions"),
        (gzip.compress((b"the 1 2" + b" " * 4000 + b"\n") * 3000), "more than 100 times"),
    ],
)
def test_what_is_something_else_is_called_by_its_name(tmp_path, raw, says):
    """Before a vector is given for it."""
    file = tmp_path / "v.txt"
    file.write_bytes(raw)
    with pytest.raises(UserError, match=says):
        load(f"words:{file}").encode(["the ship"])


def test_ordinary_text_is_refused_in_linear_time(tmp_path):
    """A paragraph of 400 kB without a number in it."""
    file = tmp_path / "book.txt"
    file.write_text("it was a bright cold day in april " * 12_000)
    began = time.process_time()
    with pytest.raises(UserError, match="holds no numbers"):
        layout(file)
    assert time.process_time() - began < 2
