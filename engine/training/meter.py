"""Losses and speed between two reports; only reading them synchronises with the device."""

from __future__ import annotations

import math
import time

import torch

from theodolite.engine.memory import most_used
from theodolite.engine.training.events import Stepped

REPORT_SECONDS = 1.0
"""Seconds between two reports."""


class Meter:
    """Losses and speed of the updates since the last report.

    Args:
        step: updates made before this run was resumed.
        steps: updates in all.
        seconds: spent on those made before.
        device: of the model.
        skips: whether updates whose gradients overflow are skipped, as in fp16.

    Attributes:
        failure: the first failure, as a sentence; empty until then.
    """

    def __init__(
        self, step: int, steps: int, seconds: float, device: torch.device, *, skips: bool = False
    ) -> None:
        self.first, self.step, self.steps = step, step, steps
        self.device, self.skips = device, skips
        self.failure = ""
        self._before, self._began = seconds, time.perf_counter()
        self._losses: list[torch.Tensor] = []
        self._norms: list[torch.Tensor] = []
        self._count, self._rate = 0, 0.0
        self._since, self._pause = self._began, 0.0

    @property
    def seconds(self) -> float:
        """Seconds of the whole run so far."""
        return self._before + time.perf_counter() - self._began

    @property
    def due(self) -> bool:
        """Whether to report: after the first update, and then about once a second."""
        first = self.step == self.first + 1
        return first or time.perf_counter() - self._since >= REPORT_SECONDS

    def add(self, loss: torch.Tensor, norm: torch.Tensor, count: int, rate: float) -> None:
        """Add an update: scalars that stay on the device, its sentences and its learning rate."""
        self._losses.append(loss)
        self._norms.append(norm)
        self._count += count
        self._rate = rate
        self.step += 1

    def pause(self, seconds: float) -> None:
        """Exclude time that was not spent on updates."""
        self._pause += seconds

    def read(self) -> Stepped | None:
        """The report; None without an update since the last one, or after a failure."""
        if not self._losses:
            return None
        both = torch.stack([torch.stack(self._losses).float(), torch.stack(self._norms).float()])
        losses, norms = both.tolist()  # the one place that waits for the device
        # The first failure stays, even if later losses are finite.
        self.failure = self.failure or self._failure(losses, norms)
        now = time.perf_counter()
        spent = max(now - self._since - self._pause, 1e-9)
        pace = (now - self._began) / (self.step - self.first)
        report = Stepped(
            step=self.step,
            steps=self.steps,
            loss=sum(losses) / len(losses),
            learning_rate=self._rate,
            grad_norm=norms[-1] if math.isfinite(norms[-1]) else 0.0,
            sentences_per_second=self._count / spent,
            seconds=self.seconds,
            seconds_left=pace * (self.steps - self.step),
            gpu_bytes=most_used(self.device),
        )
        self._losses, self._norms, self._count = [], [], 0
        self._since, self._pause = now, 0.0
        return None if self.failure else report

    def _failure(self, losses: list[float], norms: list[float]) -> str:
        """Name the first update whose loss or gradient was NaN or infinity."""
        before = self.step - len(losses)
        for i, (loss, norm) in enumerate(zip(losses, norms, strict=True), start=1):
            rate = f"The learning rate was about {self._rate:.2g}"
            last = f" and the norm of the gradient before it {norms[i - 2]:.3g}" if i > 1 else ""
            if not math.isfinite(loss):
                return f"The loss of step {before + i} was {loss}. {rate}{last}."
            if not math.isfinite(norm) and not self.skips:
                return f"The gradient of step {before + i} was {norm}, its loss {loss:.4g}. {rate}."
        return ""
