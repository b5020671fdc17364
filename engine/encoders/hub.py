"""From a model's id on the Hugging Face hub to a folder with the necessary files.

Nothing is loaded here. Without the network, an earlier download is used.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from theodolite.engine.encoders.checkpoint import TEXTS, WEIGHTS, files_read
from theodolite.engine.errors import UserError
from theodolite.engine.reachable import offline_if_unreachable

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
    from huggingface_hub import errors as hub

    at = f"{model} at {revision}" if revision else model
    try:
        with offline_if_unreachable():
            info = HfApi().model_info(model, revision=revision, timeout=15)
            wanted = needed([s.rfilename for s in info.siblings or []])
            return Path(snapshot_download(model, revision=revision, allow_patterns=wanted))
    except hub.HFValidationError as error:
        raise UserError(
            f"'{model}' is not an id of the hub.", "Ids look like owner/name."
        ) from error
    except hub.GatedRepoError as error:
        raise UserError(
            f"{model} is gated.",
            "Accept its terms on the hub and log in with `hf auth login`.",
            code="denied",
        ) from error
    except hub.RevisionNotFoundError as error:
        raise UserError(
            f"{model} has no revision '{revision}'.",
            "Give a branch, tag or commit.",
            code="unknown",
        ) from error
    except hub.RepositoryNotFoundError as error:
        raise UserError(
            f"The hub has no model '{model}', or it is private.",
            "Check the spelling; a folder of your own is written dir:FOLDER.",
            code="unknown",
        ) from error
    except Exception as error:  # the HTTP library's own, which differ between versions
        local = cached(model, revision)
        if local is not None:
            return local
        raise UserError(
            f"The hub cannot be reached, and {at} is not on this machine ({type(error).__name__}).",
            "Connect and try again, or give a folder: dir:FOLDER.",
            code="unreachable",
        ) from error


def cached(model: str, revision: str | None = None) -> Path | None:
    """Folder of a model that was downloaded before, without asking the network; None if not."""
    from huggingface_hub import errors as hub
    from huggingface_hub import try_to_load_from_cache

    for name in ("modules.json", "config.json"):
        try:
            file = try_to_load_from_cache(model, name, revision=revision)
        except hub.HFValidationError:
            return None
        if isinstance(file, str):
            folder = Path(file).parent
            # An interrupted download leaves a folder without weights, or with broken links.
            return folder if any(f.suffix in WEIGHTS for f in files_read(folder)) else None
    return None


def needed(files: list[str]) -> list[str]:
    """The files of a repository that determine vectors: text files and one form of weights."""
    paths = [PurePosixPath(f) for f in files if not _SKIPPED.search(f)]
    kept = [path for path in paths if path.suffix in TEXTS]
    covered: set[PurePosixPath] = set()
    for pattern in WEIGHTS.values():
        found = [path for path in paths if path.match(pattern) and path.parent not in covered]
        covered |= {path.parent for path in found}
        kept += found
    return [str(path) for path in kept]
