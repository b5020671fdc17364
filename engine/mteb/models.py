"""MTEB's model registry, by names on the hub. Only `load` downloads."""

import contextlib
import json
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from theodolite.engine.errors import UserError, did_you_mean, first_line
from theodolite.engine.hub import causes, explain_failure, offline_if_unreachable
from theodolite.engine.mteb.package import lazy_import
from theodolite.engine.protocols.package import version

_OTHER_KINDS = {
    "cross-encoder": "a cross-encoder: it scores two texts at once and gives no vectors",
    "late-interaction": "a late-interaction model: it gives a vector a token, not one a text",
    "sparse": "a sparse model: its vectors are weights of words, not a point in a space",
    "hybrid": "a hybrid of several models: it gives scores and no vectors",
    "router": "a router: it sends every text to another model",
}

_loading = threading.Lock()


def trained_on(model: str) -> tuple[str, ...] | None:
    """Return the MTEB tasks on whose data a model was trained, with those MTEB deems equivalent.

    Args:
        model: its name on the hub, `owner/name`.

    Returns:
        Sorted task names; empty if it was trained on none of them. None if unknown: mteb is not
        installed, does not list the model, or does not state its training data.
    """
    return None if version() is None else _training_data(model)


@cache
def _training_data(model: str) -> tuple[str, ...] | None:
    metadata = metadata_of(model)
    names = None if metadata is None else metadata.get_training_datasets()
    return None if names is None else tuple(sorted(names))


def metadata_of(model: str) -> Any:
    """Return MTEB's metadata of a model; None if MTEB does not list it."""
    find = lazy_import("get_model_meta")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # renamed models warn
        try:
            return find(model)
        except KeyError:
            return None


def dense(model: str) -> Any:
    """Return MTEB's metadata of a dense text model that mteb's code can run here."""
    meta = metadata_of(model)
    if meta is None:
        registry = lazy_import("models.model_implementations.MODEL_REGISTRY")
        hint = did_you_mean(model, registry, f"A model of the hub is written hf:{model}.", "mteb:")
        raise UserError(f"MTEB lists no model {model!r}.", hint, code="unknown")
    other = next((kind for kind in meta.model_type if kind in _OTHER_KINDS), None)
    if "dense" not in meta.model_type and other:
        raise UserError(
            f"{meta.name} is {_OTHER_KINDS[other]}.",
            "Encoders here give one vector a text; take a dense model.",
            code="unsupported",
        )
    if "text" not in meta.modalities:
        raise UserError(
            f"{meta.name} reads {' and '.join(meta.modalities)}.",
            "Encoders here read text; take a model of texts.",
            code="unsupported",
        )
    if "API" in meta.framework or not meta.open_weights:
        raise UserError(
            f"{meta.name} runs on its owner's servers alone; no text leaves this machine.",
            "Take a model with open weights.",
            code="unsupported",
        )
    if meta.loader is None:
        raise UserError(
            f"MTEB has no code for {meta.name}, only its name.",
            f"Try hf:{meta.name}.",
            code="unsupported",
        )
    if meta.loader_kwargs.get("trust_remote_code"):
        raise _remote(meta)
    return meta


def load(meta: Any, device: str | None) -> Any:
    """Load a model by MTEB's code, downloading it if needed."""
    try:
        get = lazy_import("get_model")
        with warnings.catch_warnings(), _no_remote_code(meta), offline_if_unreachable():
            warnings.simplefilter("ignore")
            return get(meta.name, meta.revision, device)
    except UserError:
        raise
    except Exception as error:  # every loader raises its own kinds
        raise _explain(error, meta) from error


@contextmanager
def _no_remote_code(meta: Any) -> Iterator[None]:
    """Refuse a model's remote code, whatever an MTEB loader asks transformers for."""
    from transformers import dynamic_module_utils as programs

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("refused") from _remote(meta)  # other errors are swallowed

    with _loading:
        own = programs.get_class_in_module
        programs.get_class_in_module = refuse
        try:
            yield
        finally:
            programs.get_class_in_module = own


def _remote(meta: Any) -> UserError:
    return UserError(
        f"{meta.name} comes with a program of its own (trust_remote_code).",
        "No remote code is run here. Compute its vectors elsewhere and use vectors:FILE, or take "
        "another model.",
        code="denied",
    )


def _explain(error: Exception, meta: Any) -> UserError:
    chain = causes(error)
    refused = next((one for one in chain if isinstance(one, UserError)), None)
    if refused is not None:
        return refused
    if any("trust_remote_code" in str(one) for one in chain):
        return _remote(meta)
    if why := explain_failure(error, f"model {meta.name!r}", meta.name, str(meta.revision)):
        return why
    if isinstance(error, ImportError):
        return UserError(
            f"MTEB's code for {meta.name} needs a package that is not installed: "
            f"{first_line(error)}",
            f"Install it, or try hf:{meta.name}.",
            code="unsupported",
        )
    return UserError(
        f"mteb cannot load {meta.name}: {first_line(error)}", f"Try hf:{meta.name}.", code="failed"
    )


def facts(model: str) -> dict[str, Any]:
    """Return MTEB's facts about a model, under the names of `engine.encoders.describe`."""
    meta = dense(model)
    megabytes = meta.memory_usage_mb
    return {
        "dim": meta.embed_dim if isinstance(meta.embed_dim, int) else None,
        "parameters": meta.n_parameters,
        "embedding_parameters": meta.n_embedding_parameters,
        "bytes": int(megabytes * 2**20) if megabytes else None,
        "max_tokens": int(meta.max_tokens) if meta.max_tokens else None,
        "licence": None if meta.license is None else str(meta.license),
        "trained_on": list(trained_on(model) or ()),
    }


def main() -> None:
    """`python -m theodolite.engine.mteb.models NAME...`: print each model's training tasks as JSON.

    For callers that must not wait for the import of mteb. Runs at a low priority.
    """
    if hasattr(os, "nice"):
        os.nice(10)
    with contextlib.redirect_stdout(sys.stderr):  # whatever mteb prints
        sets = {name: trained_on(name) for name in sys.argv[1:]}
    sys.stdout.write(json.dumps(sets))


if __name__ == "__main__":
    main()
