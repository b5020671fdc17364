"""The spec of a training run: frozen, versioned and hashed.

Defaults are those of unsupervised SimCSE on BERT-base (Gao et al. 2021, section 5 and appendix A).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from theodolite.engine.encoders.spec import TWO_MEANINGS
from theodolite.engine.errors import UserError
from theodolite.engine.training import losses
from theodolite.engine.training.base_spec import DEVICE, PRECISION, BaseSpec, PrecisionName, Setting

VERSION = 1

ObjectiveName = Literal["unsup", "sup", "mlm", "next-sentence", "st", "static"]
Similarity = Literal["cosine", "dot"]
Augmentation = Literal["none", "crop", "delete", "delete-one", "mlm"]
BASE: Final = "base"
"""Of a setting: what the base has."""
Pooling = Literal["base", "cls_token", "avg", "avg_first_last", "avg_top2", "max"]
Sampler = Literal["proportional", "round-robin"]
Head = Literal["none", "mlp", "mlp-train-only"]

_LOSS, _NOISE = "Loss and vectors", "Dropout and augmentation"
_LORA, _OPTIMISER, _MACHINE = "LoRA", "Optimiser and batches", "Machine"


def _for(*objectives: ObjectiveName) -> Callable[[Mapping[str, Any]], bool]:
    return lambda values: values["objective"] in objectives


def _is_evaluated(values: Mapping[str, Any]) -> bool:
    return bool(values["dev"] != "none")


def _is_given(values: Mapping[str, Any], name: str) -> bool:
    return str(values[name] or "").strip().casefold() not in ("", "none")


def _has_prompts(values: Mapping[str, Any]) -> bool:
    return values["objective"] not in ("mlm", "static")


_st, _static = _for("st"), _for("static")
SIDED = ("sup", "pairs", "triplets")
"""Objectives, and data of losses, whose columns have the prompts of queries and of documents."""
_READ_BY_STATIC = ("dims", "dev", "limit", "name")
"""The settings of a static encoder, which is computed without updates."""
_contrastive, _unsup = _for("unsup", "sup", "next-sentence"), _for("unsup")


@dataclass(frozen=True)
class TrainSpec(BaseSpec):
    """A training run.

    Attributes:
        objective: `unsup` (eq. 4), `sup` (eq. 5, eq. 8 with a weight), `mlm` (masked language
            modelling alone), `next-sentence` (a sentence and one that follows it; table 2), `st`
            (a loss of sentence-transformers, `loss`), `static` (a vector for each token, see
            `training.static`).
        base: what is trained: `dir:FOLDER`, `hf:NAME`, a packaged encoder such as `minilm`, or
            `new:layers=4,hidden=256,heads=4,vocab=8000`, a BERT with random weights and its own
            vocabulary, learned from the training sentences.
        train: a file (one sentence a line, or columns as csv, tsv, JSON lines, Parquet, Arrow
            or Excel), a folder of `save_to_disk`, or the name of a data set of the catalog; several
            with commas between.
        out: the folder of the trained encoder.

    The others are described where they are declared.
    """

    version = VERSION
    noun = "training spec"
    verb = "train"
    arguments = ("objective", "base")
    sources = ("base", "train", "guide")

    objective: ObjectiveName
    base: str
    train: str
    out: str
    batch_size: Annotated[
        int, Setting("Batch size", "Examples that are each other's negatives.", ge=1)
    ] = 64
    learning_rate: Annotated[
        float, Setting("Peak learning rate", "Decays linearly to 0.", gt=0, lt=1)
    ] = 3e-5
    epochs: Annotated[
        float,
        Setting(
            "Epochs",
            "Passes over the data; fractions allowed.",
            gt=0,
            when=lambda values: not _is_given(values, "steps"),
        ),
    ] = 1.0
    steps: Annotated[
        int | None,
        Setting("Steps", "Updates in all; empty or none: by the epochs.", ge=1),
    ] = None
    max_length: Annotated[
        int,
        Setting(
            "Max sequence length",
            "Tokens kept of a sentence, special ones included.",
            ge=3,
        ),
    ] = 32
    layers: Annotated[
        int | None,
        Setting(
            "Layers of the base",
            "How many are kept, evenly spaced, for a smaller model; empty or none: all.",
            ge=1,
        ),
    ] = None
    dims: Annotated[
        int,
        Setting(
            "Dimensions", "Of a static encoder; at most those of the base.", ge=1, when=_static
        ),
    ] = 256
    temperature: Annotated[
        float, Setting("Temperature", "Divides the similarities.", gt=0, when=_contrastive)
    ] = 0.05
    prompts: Annotated[
        str | None,
        Setting(
            "Prompts",
            "Before the sentences of the first column and of all others, such as query: | "
            "passage:, with one space after each; base: the base's own; empty or none: none.",
            offers={BASE: "the base's own", "none": "none"},
            when=_has_prompts,
        ),
    ] = BASE
    hard_negatives: Annotated[
        bool,
        Setting(
            "Use hard negatives from the third column",
            when=lambda values: (
                values["objective"] == "sup"
                or (_st(values) and losses.LOSSES[values["loss"]].negatives)
            ),
        ),
    ] = True
    loss: Annotated[
        str,
        Setting(
            "Loss",
            "Of sentence-transformers.",
            choices={name: f"{name}: {one.needs}" for name, one in losses.LOSSES.items()},
            when=_for("st"),
        ),
    ] = "MultipleNegativesRankingLoss"
    guide: Annotated[
        str | None,
        Setting(
            "Guide or teacher",
            "An encoder: a guide tells which negatives are false ones, a teacher is imitated.",
            when=lambda values: _st(values) and bool(losses.LOSSES[values["loss"]].guide),
        ),
    ] = None
    matryoshka: Annotated[
        str | None,
        Setting(
            "Matryoshka dimensions",
            "The loss is summed over the first dimensions, such as 384,128,64, so that vectors can "
            "be cut; empty or none: the whole vector alone.",
            when=_for("st"),
        ),
    ] = None
    next_sentences: Annotated[
        int,
        Setting(
            "Sentences that follow",
            "Which count as positives of next-sentence.",
            choices={"1": "the next one", "3": "the next three"},
            when=_for("next-sentence"),
        ),
    ] = 1
    seed: Annotated[
        int,
        Setting(
            "Random seed",
            "Of order, dropout, augmentation and new weights.",
            ge=0,
            le=2**32 - 1,
        ),
    ] = 42
    dev: Annotated[
        str | None,
        Setting(
            "Dev set",
            "A data set or task with scores: it shows what training changes, and the updates with "
            "the best score are kept.",
            offers={"none": "none: no scores, the last weights are kept"},
        ),
    ] = "STSBenchmark"
    dev_every: Annotated[
        int,
        Setting("Evaluate every N steps", "On the dev set.", ge=1, when=_is_evaluated),
    ] = 125
    patience: Annotated[
        int | None,
        Setting(
            "Early stopping patience",
            "Evaluations without a better score until training stops; empty or none: never.",
            ge=1,
            when=_is_evaluated,
        ),
    ] = None
    pooling: Annotated[
        Pooling,
        Setting(
            "Pooling",
            "How token vectors become one, in the loss.",
            _LOSS,
            choices={
                BASE: "the base's own",
                "cls_token": "[CLS]",
                "avg": "mean",
                "avg_first_last": "first and last layer",
                "avg_top2": "last two layers",
                "max": "max",
            },
        ),
    ] = BASE
    head: Annotated[
        Head,
        Setting(
            "MLP head on it",
            "A dense layer with tanh. SimCSE, table 6: in training only is best.",
            _LOSS,
            choices={"mlp-train-only": "in training only", "mlp": "kept", "none": "none"},
            when=_contrastive,
        ),
    ] = "mlp-train-only"
    similarity: Annotated[
        Similarity,
        Setting(
            "Similarity",
            "Of two vectors.",
            _LOSS,
            choices={"cosine": "cosine", "dot": "dot product"},
            when=_contrastive,
        ),
    ] = "cosine"
    # Alpha of equation 8 as the reference code reads it: 0 is a weight of one.
    hard_negative_weight: Annotated[
        float,
        Setting(
            "Weight of hard negatives",
            "Added to their logits; 0 for no effect.",
            _LOSS,
            when=lambda values: values["objective"] == "sup" and bool(values["hard_negatives"]),
        ),
    ] = 0.0
    mlm_weight: Annotated[
        float,
        Setting(
            "Weight of an MLM loss beside it",
            "Lambda in table D.2 of SimCSE; 0 for none.",
            _LOSS,
            ge=0,
            when=_contrastive,
        ),
    ] = 0.0
    mlm_probability: Annotated[
        float,
        Setting(
            "Share of masked tokens",
            "Tokens that MLM predicts.",
            _LOSS,
            gt=0,
            lt=1,
            when=lambda values: (
                values["objective"] == "mlm" or values["mlm_weight"] not in ("", "0")
            ),
        ),
    ] = 0.15
    dual: Annotated[
        bool,
        Setting("Train a second encoder for the second column", "", _LOSS, when=_contrastive),
    ] = False
    dropout: Annotated[
        float | None,
        Setting(
            "Dropout",
            "Empty or none: the model's own, usually 0.1.",
            _NOISE,
            ge=0,
            lt=1,
        ),
    ] = None
    augmentation: Annotated[
        Augmentation,
        Setting(
            "Augmentation of the second copy",
            "Of an unsupervised sentence, applied before encoding.",
            _NOISE,
            choices={
                "none": "none",
                "crop": "crop",
                "delete": "delete words",
                "delete-one": "delete one word",
                "mlm": "replace by MLM",
            },
            when=_unsup,
        ),
    ] = "none"
    augmentation_rate: Annotated[
        float,
        Setting(
            "Share of tokens it changes",
            "Of the words or tokens of a sentence.",
            _NOISE,
            ge=0,
            lt=1,
            when=lambda values: (
                _unsup(values) and values["augmentation"] in ("crop", "delete", "mlm")
            ),
        ),
    ] = 0.1
    fixed_mask: Annotated[
        bool, Setting("The same dropout mask for both copies", "", _NOISE, when=_unsup)
    ] = False
    lora: Annotated[
        int | None,
        Setting(
            "Rank of LoRA",
            "Trains small matrices beside the weights, which stay; usual is 8 to 64, with a higher "
            "learning rate such as 2e-4. Empty or none: all weights are trained.",
            _LORA,
            ge=1,
        ),
    ] = None
    lora_alpha: Annotated[
        float,
        Setting(
            "Alpha of LoRA",
            "The matrices are scaled by alpha / rank.",
            _LORA,
            gt=0,
            when=lambda values: _is_given(values, "lora"),
        ),
    ] = 16.0
    warmup: Annotated[
        float,
        Setting("Warm-up", "Share of the steps, 0 to 1.", _OPTIMISER, ge=0, le=1),
    ] = 0.0
    weight_decay: Annotated[
        float,
        Setting("Weight decay", "Of AdamW; not of biases and layer norms.", _OPTIMISER, ge=0, lt=1),
    ] = 0.0
    max_grad_norm: Annotated[
        float,
        Setting("Max gradient norm", "Longer gradients are clipped; 0: never.", _OPTIMISER, ge=0),
    ] = 1.0
    micro_batch: Annotated[
        int | None,
        Setting(
            "Micro-batch",
            "Examples in memory at once, same gradients (GradCache); empty or none: all.",
            _OPTIMISER,
            ge=1,
        ),
    ] = None
    limit: Annotated[
        int | None,
        Setting("First examples only", "Number; empty or none: all.", _OPTIMISER, ge=1),
    ] = None
    sampler: Annotated[
        Sampler,
        Setting(
            "Order of several data sets",
            "A batch is of one of them.",
            _OPTIMISER,
            choices={"proportional": "all batches, at random", "round-robin": "in turn"},
            when=lambda values: "," in str(values["train"] or ""),
        ),
    ] = "proportional"
    precision: Annotated[PrecisionName, PRECISION] = "auto"
    device: Annotated[str | None, DEVICE] = None
    processes: Annotated[
        int,
        Setting(
            "Processes",
            "Number sharing each batch, on this machine: a GPU each, if there are any.",
            _MACHINE,
            ge=1,
            le=64,
        ),
    ] = 1
    compile: Annotated[
        bool,
        Setting(
            "torch.compile",
            "For GPUs: on a CPU, updates take a tenth longer, and the first one half a minute.",
            _MACHINE,
        ),
    ] = False
    gradient_checkpointing: Annotated[
        bool,
        Setting("Gradient checkpointing: recompute activations, save memory", "", _MACHINE),
    ] = False
    name: Annotated[
        str | None,
        Setting(
            "Name",
            "It can be used anywhere by it; empty or none: after base, objective and date.",
        ),
    ] = None

    @classmethod
    def applies(cls, setting: Setting, values: Mapping[str, Any]) -> bool:
        """Whether a setting is shown and read, given every value as a form has it."""
        if _static(values) and setting.name not in _READ_BY_STATIC:
            return False
        return super().applies(setting, values)

    @property
    def has_sides(self) -> bool:
        """Whether its columns have the base's prompts of queries and of documents."""
        wants = losses.LOSSES[self.loss].data if self.objective == "st" else self.objective
        return wants in SIDED

    @property
    def column_prompts(self) -> tuple[str, ...]:
        """The text before the sentences of each column; the last is also that of further ones.

        Empty for those of the base.
        """
        if not _has_prompts(vars(self)):
            return ("",)
        if self.prompts == BASE:
            return ()
        stripped = map(str.strip, (self.prompts or "").split("|"))
        return tuple(f"{text} " if text else "" for text in stripped)

    @property
    def is_dual(self) -> bool:
        """Whether a second encoder is trained, whether by `dual` or for the sake of the loss."""
        return self.dual or (self.objective == "st" and losses.LOSSES[self.loss].twins)

    @property
    def is_alone(self) -> bool:
        """Whether one process trains it, and no other can share the work."""
        is_whole = self.objective == "st" and losses.LOSSES[self.loss].is_whole
        return self.objective == "static" or is_whole

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.pooling in _OF_ENCODERS:
            raise UserError(*_OF_ENCODERS[self.pooling])
        super().__post_init__()
        is_static = self.objective == "static"
        if (self.lora or is_static) and self.base.startswith("new:"):
            does = "A static encoder imitates" if is_static else "LoRA changes"
            raise UserError(
                f"{does} a trained encoder, and the weights of new: are random.",
                "Give a trained base, such as minilm.",
                code="conflict",
            )
        if self.objective == "st":
            losses.check(self.loss, self.guide, self.matryoshka, self.processes)
        elif is_static and (self.processes > 1 or self.layers or self.lora):
            raise UserError(
                "A static encoder is made in one process, and has neither layers nor LoRA.",
                "Leave out the processes, the layers and LoRA.",
                code="conflict",
            )
        elif self.guide or self.matryoshka:
            raise UserError(
                f"The objective {self.objective} has no guide, teacher or Matryoshka dimensions.",
                "Choose the objective st with a loss that has them.",
                code="conflict",
            )


_OF_ENCODERS = {
    "cls": TWO_MEANINGS,
    "pooler_output": (
        "A training pools with cls_token and puts its head on that.",
        "Write pooling=cls_token with head=mlp: the encoder that comes of it has pooler_output.",
    ),
}
