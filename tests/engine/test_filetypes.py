"""Files that are something else than their names say."""

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.filetypes import lfs_pointer, refuse_pointer


def test_a_git_lfs_pointer_is_named_as_one_and_nothing_else(tmp_path):
    """Not a text that speaks of Git LFS, a folder, or a file that is missing."""
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a2146' * 8}\nsize 9\n"
    text = "The version is https://git-lfs.github.com/spec/v1.\n"
    folder.files(tmp_path, {"pairs.csv": pointer, "text.txt": text, "empty": ""})
    with refused("wrong-kind", "pairs.csv", "git lfs pull"):
        refuse_pointer(tmp_path / "pairs.csv")
    for name in ("text.txt", "empty", "", "missing"):
        refuse_pointer(tmp_path / name)
        assert not lfs_pointer(tmp_path / name)
