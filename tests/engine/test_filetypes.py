"""Files that are something else than their names say."""

from tests.errors import refused
from theodolite.engine.filetypes import lfs_pointer, refuse_pointer


def test_a_git_lfs_pointer_is_named_as_one_and_nothing_else(tmp_path):
    """Not a text that speaks of Git LFS, a folder, or a file that is missing."""
    file, text = tmp_path / "pairs.csv", tmp_path / "text.txt"
    digest = "4d7a2146" * 8
    file.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 9\n")
    with refused("wrong-kind", "pairs.csv", "git lfs pull"):
        refuse_pointer(file)
    text.write_text("The version is https://git-lfs.github.com/spec/v1.\n")
    (tmp_path / "empty").touch()
    for path in (text, tmp_path / "empty", tmp_path, tmp_path / "missing"):
        refuse_pointer(path)
        assert not lfs_pointer(path)
