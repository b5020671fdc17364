"""The fields of the training forms as data: for encoders, and for decoders.

Types and defaults are those of the specs. Numbers are typed as text, so that `3e-5` stays as
written and a typo is reported beside the form instead of being clipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.app import formats
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training.fields import defaults, read, types_of
from theodolite.engine.training.spec import TrainSpec

Values = Mapping[str, Any]
NONE = "none"
"""Value of the dev set for a training without one."""
OBJECTIVES = (
    ("Unsupervised SimCSE: a sentence and itself under another dropout", "unsup"),
    ("Supervised SimCSE: pairs with the same meaning, with hard negatives", "sup"),
    ("Next sentence: a sentence and the one that follows it", "next-sentence"),
    ("Masked language modelling: pretrain a model of your own", "mlm"),
)


@dataclass(frozen=True)
class Setting:
    """One field of a spec on its form.

    Attributes:
        name: of the field in the spec.
        label, hint: for people.
        group: name of its group.
        when: whether it is shown and read, given all values as typed; None for always.
        choices: (label, value) of what can be chosen.
    """

    name: str
    label: str
    hint: str = ""
    group: str = ""
    when: Callable[[Values], bool] | None = None
    choices: Sequence[tuple[str, str]] = ()

    def applies(self, values: Values) -> bool:
        """Whether it is shown and read."""
        return self.when is None or self.when(values)


class FormSettings(dict[str, Setting]):
    """The settings of a form by name, in their order.

    Attributes:
        spec: the class whose fields they are.
        groups: group -> title of its fold; empty for a group that is always visible.
    """

    def __init__(self, spec: type, groups: Mapping[str, str], *settings: Setting) -> None:
        super().__init__({setting.name: setting for setting in settings})
        self.spec, self.groups = spec, groups

    def ticked(self, name: str) -> bool:
        """Whether a setting is a checkbox."""
        return bool in types_of(self.spec)[name]

    def shown(self, name: str, value: Any) -> Any:
        """A value of the spec as its control shows it: text, or bool for a checkbox."""
        if self.ticked(name):
            return bool(value)
        if value is None:
            return NONE if name == "dev" else ""
        return formats.brief(value) if isinstance(value, float) else str(value)

    def defaults(self) -> dict[str, Any]:
        """The spec's default of every setting, as the controls show it."""
        usual = defaults(self.spec)
        return {name: self.shown(name, usual[name]) for name in self}

    def read(self, values: Values) -> dict[str, Any]:
        """The fields of a spec from values as typed; settings that do not apply are left out."""
        return {
            name: bool(values[name])
            if self.ticked(name)
            else read(self.spec, name, str(values[name] or ""))
            for name, setting in self.items()
            if setting.applies(values)
        }


CONTRASTIVE = ("unsup", "sup", "next-sentence")
_PRECISIONS = (("by device", "auto"), ("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp16"))
_DEVICES = (("the first GPU, if any", ""), ("CPU", "cpu"), ("CUDA", "cuda"), ("Apple MPS", "mps"))


def _for(*objectives: str) -> Callable[[Values], bool]:
    return lambda values: values["objective"] in objectives


def _evaluated(values: Values) -> bool:
    return bool(values["dev"] != NONE)


def _positive(text: Any) -> bool:
    try:
        return float(text or 0) > 0
    except ValueError:
        return False


ENCODER = FormSettings(
    TrainSpec,
    {
        "": "",
        "dev": "",
        "vectors": "Loss and vectors",
        "noise": "Dropout and augmentation",
        "optimiser": "Optimiser and batches",
        "machine": "Machine",
    },
    Setting("batch_size", "Batch size", "Examples in a batch are each other's negatives."),
    Setting("learning_rate", "Peak learning rate", "Decays linearly to 0."),
    Setting(
        "epochs",
        "Epochs",
        "Passes over the data.",
        when=lambda v: not str(v["steps"] or "").strip(),
    ),
    Setting("steps", "Steps", "Empty: determined by the epochs."),
    Setting("max_length", "Max sequence length", "Tokens; longer ones are cut."),
    Setting("temperature", "Temperature", "Divides similarities.", when=_for(*CONTRASTIVE)),
    Setting("hard_negatives", "Use hard negatives from the third column", when=_for("sup")),
    Setting(
        "next_sentences",
        "Sentences that follow",
        "Which count as positives.",
        when=_for("next-sentence"),
        choices=(("the next one", "1"), ("the next three", "3")),
    ),
    Setting("seed", "Random seed", "Seed of all random draws."),
    Setting(
        "dev",
        "Dev set for model selection",
        "The best score decides which weights are kept.",
        "dev",
        choices=(("none: keep the last weights", NONE),),
    ),
    Setting("dev_every", "Evaluate every N steps", "On the dev set.", "dev", _evaluated),
    Setting("patience", "Early stopping patience", "Evaluations; empty: never.", "dev", _evaluated),
    Setting(
        "pooling",
        "Pooling",
        "How token vectors become one.",
        "vectors",
        choices=(
            ("the base's own", "base"),
            ("[CLS]", "cls_token"),
            ("mean", "avg"),
            ("first and last layer", "avg_first_last"),
            ("last two layers", "avg_top2"),
            ("max", "max"),
        ),
    ),
    Setting(
        "head",
        "MLP head on it",
        "Table 6: in training only is best.",
        "vectors",
        _for(*CONTRASTIVE),
        (("in training only", "mlp-train-only"), ("kept", "mlp"), ("none", "none")),
    ),
    Setting(
        "similarity",
        "Similarity",
        "Of two vectors.",
        "vectors",
        _for(*CONTRASTIVE),
        (("cosine", "cosine"), ("dot product", "dot")),
    ),
    Setting(
        "hard_negative_weight",
        "Weight of hard negatives",
        "Added to their logits; 0 for no effect.",
        "vectors",
        lambda v: v["objective"] == "sup" and bool(v["hard_negatives"]),
    ),
    Setting(
        "mlm_weight",
        "Weight of an MLM loss beside it",
        "Lambda of table D.2; 0 for none.",
        "vectors",
        _for(*CONTRASTIVE),
    ),
    Setting(
        "mlm_probability",
        "Share of masked tokens",
        "",
        "vectors",
        lambda v: v["objective"] == "mlm" or _positive(v["mlm_weight"]),
    ),
    Setting(
        "dual", "Train a second encoder for the second column", "", "vectors", _for(*CONTRASTIVE)
    ),
    Setting("dropout", "Dropout", "Empty: the model's own, usually 0.1.", "noise"),
    Setting(
        "augmentation",
        "Augmentation of the second copy",
        "Applied before encoding.",
        "noise",
        _for("unsup"),
        (
            ("none", "none"),
            ("crop", "crop"),
            ("delete words", "delete"),
            ("delete one word", "delete-one"),
            ("replace by MLM", "mlm"),
        ),
    ),
    Setting(
        "augmentation_rate",
        "Share of tokens it changes",
        "",
        "noise",
        lambda v: v["objective"] == "unsup" and v["augmentation"] in ("crop", "delete", "mlm"),
    ),
    Setting("fixed_mask", "The same dropout mask for both copies", "", "noise", _for("unsup")),
    Setting("warmup", "Warm-up", "Share of the steps, 0 to 1.", "optimiser"),
    Setting("weight_decay", "Weight decay", "Of AdamW.", "optimiser"),
    Setting("max_grad_norm", "Max gradient norm", "0: never clipped.", "optimiser"),
    Setting(
        "micro_batch",
        "Micro-batch",
        "Examples in memory at once, same gradients. Empty: the whole batch.",
        "optimiser",
    ),
    Setting("limit", "First examples only", "Empty: all.", "optimiser"),
    Setting("precision", "Precision", "", "machine", choices=_PRECISIONS),
    Setting("device", "Device", "", "machine", choices=_DEVICES),
    Setting("processes", "Processes", "Number sharing each batch, on this machine.", "machine"),
    Setting(
        "compile",
        "torch.compile",
        "For GPUs: on a CPU, updates take a tenth longer, and the first one half a minute.",
        "machine",
    ),
    Setting(
        "gradient_checkpointing",
        "Gradient checkpointing: recompute activations, save memory",
        "",
        "machine",
    ),
)

DECODER = FormSettings(
    DecoderSpec,
    {"": "", "decoder": "Sizes, optimiser, machine"},
    Setting(
        "architecture",
        "Architecture",
        "How the decoder reads the vector.",
        choices=(
            ("Transformer", "prefix"),
            ("Simple LSTM", "lstm"),
            ("Paper's LSTM", "lstm-mos"),
            ("A language model", "causal"),
        ),
    ),
    Setting(
        "base",
        "Language model",
        "hf:ID or dir:FOLDER.",
        when=lambda v: v["architecture"] == "causal",
    ),
    Setting("words", "Max words", "In a sentence."),
    Setting("limit", "First sentences only", "Empty: all."),
    Setting("epochs", "Epochs", "Passes over the sentences."),
    Setting("clauses", "Cut longer sentences into clauses, instead of leaving them out"),
    Setting(
        "start",
        "Continue from",
        "The name of a decoder.",
        "decoder",
        lambda v: v["architecture"] != "causal",
    ),
    Setting("width", "Width", "Empty: its own.", "decoder"),
    Setting("layers", "Layers", "Empty: its own.", "decoder"),
    Setting("vocabulary", "Vocabulary", "Tokens to learn.", "decoder"),
    Setting("dropout", "Dropout", "Empty: its own.", "decoder"),
    Setting("learning_rate", "Peak learning rate", "Decays along a cosine.", "decoder"),
    Setting("warmup", "Warm-up", "Updates.", "decoder"),
    Setting("batch_tokens", "Batch size", "Tokens of an update.", "decoder"),
    Setting("noise", "Noise", "Added to the vectors.", "decoder"),
    Setting(
        "held_out",
        "Held-out sentences",
        "The lowest loss on them decides which weights are kept.",
        "decoder",
    ),
    Setting("seed", "Random seed", "Seed of all random draws.", "decoder"),
    Setting("precision", "Precision", "", "decoder", choices=_PRECISIONS),
    Setting("device", "Device", "", "decoder", choices=_DEVICES),
)
