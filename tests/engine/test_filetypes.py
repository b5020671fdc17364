"""Files that are something else than their names say."""

import pytest

from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import lfs_pointer, refuse_pointer

LFS_POINTER = f"""version https://git-lfs.github.com/spec/v1
oid sha256:{"4d7a2146" * 8}
size 90868376
"""


def test_a_git_lfs_pointer_is_named_as_one(tmp_path):
    """With the file and the command that fetches its content."""
    file = tmp_path / "pairs.csv"
    file.write_text(LFS_POINTER)
    with pytest.raises(UserError, match=r"pairs\.csv is a Git LFS pointer.*git lfs pull"):
        refuse_pointer(file)


def test_any_other_file_is_not(tmp_path):
    """Nor one that speaks of Git LFS, a folder, or one that is missing."""
    text = tmp_path / "text.txt"
    text.write_text("The version is https://git-lfs.github.com/spec/v1.\n")
    (tmp_path / "empty").touch()
    for path in (text, tmp_path / "empty", tmp_path, tmp_path / "missing"):
        refuse_pointer(path)
        assert not lfs_pointer(path)
