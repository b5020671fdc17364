"""From a model's id on the Hugging Face hub to a folder with the necessary files.

Nothing is loaded here. Without the network, an earlier download is used.
"""

import re
from pathlib import Path, PurePosixPath

from theodolite.engine.encoders.checkpoint import TEXTS, WEIGHTS, files_read
from theodolite.engine.hub import fetched, in_cache

# Other frameworks' copies of the same weights, and what belongs to training.
_SKIPPED = re.compile(
    r"^(onnx|openvino|coreml|runs|checkpoint-\d+)/|^(tf_model|flax_model|rust_model)"
)


def download(model: str, revision: str | None = None) -> Path:
    """Folder in the local cache with a model's configuration, tokenizer and weights.

    Args:
        model: `owner/name`, or a bare name of the hub's early days.
        revision: branch, tag or commit; by default `main`.
    """
    from huggingface_hub import HfApi, snapshot_download

    def fetch() -> Path:
        info = HfApi().model_info(model, revision=revision, timeout=15)
        files = needed_files([s.rfilename for s in info.siblings or []])
        return Path(snapshot_download(model, revision=revision, allow_patterns=files))

    return fetched(
        fetch, lambda: cached(model, revision), f"model {model!r}", model, revision or "main"
    )


def cached(model: str, revision: str | None = None) -> Path | None:
    """Folder of a model that was downloaded before, without asking the network; None if not."""
    names = ("modules.json", "config.json", "adapter_config.json")
    files = (in_cache(model, name, revision) for name in names)
    file = next(filter(None, files), None)
    # An interrupted download leaves a folder without weights, or with broken links.
    whole = file and any(f.suffix in WEIGHTS for f in files_read(file.parent))
    return file.parent if file and whole else None


def needed_files(files: list[str]) -> list[str]:
    """The files of a repository that determine vectors, one form of weights, and its card."""
    paths = [PurePosixPath(f) for f in files if not _SKIPPED.search(f)]
    chosen_files = [
        path for path in paths if any(map(path.match, TEXTS)) or str(path) == "README.md"
    ]
    covered: set[PurePosixPath] = set()
    for pattern in WEIGHTS.values():
        matching = [path for path in paths if path.match(pattern) and path.parent not in covered]
        covered |= {path.parent for path in matching}
        chosen_files += matching
    chosen_files += [path for path in paths if path.name == "adapter_model.safetensors"]
    return [str(path) for path in chosen_files]
