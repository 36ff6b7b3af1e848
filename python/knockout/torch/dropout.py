"""Dropout with the masks of the program: a value is dropped by a hash of the seed, the step, the site, the row's key and the channel.

No generator is involved, so masks are the same on every device, for every number of workers and ranks, and when a layer is recomputed.
"""

from __future__ import annotations

import torch
from torch import Tensor

_LOW = 0xFFFFFFFF
_ADD, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_CHANNEL = 0x9E3779B9


def _signed(x: int) -> int:
    """Returns the 64 bits of a number as a signed one."""
    x &= 2**64 - 1
    return x - 2**64 if x >> 63 else x


def _mix_int(x: int) -> int:
    x = (x + _ADD) % 2**64
    x = (x ^ (x >> 30)) * _FIRST % 2**64
    x = (x ^ (x >> 27)) * _SECOND % 2**64
    return x ^ (x >> 31)


def _shift(x: Tensor, by: int) -> Tensor:
    """Shifts the bits of unsigned numbers to the right."""
    return (x >> by) & (2 ** (64 - by) - 1)


def _mix(x: Tensor) -> Tensor:
    """`_mix_int` of int64 tensors, whose products wrap around."""
    x = x + _signed(_ADD)
    x = (x ^ _shift(x, 30)) * _signed(_FIRST)
    x = (x ^ _shift(x, 27)) * _signed(_SECOND)
    return x ^ _shift(x, 31)


def _avalanche(x: Tensor) -> Tensor:
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _LOW
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _LOW
    return x ^ (x >> 16)


def stream_seed(seed: int, step: int) -> int:
    """Returns the seed of the masks of a step: `step` counts the batches before it in the whole run."""
    rotated = ((step << 32) | (step >> 32)) & (2**64 - 1)
    return _signed(seed ^ rotated)


class Dropout:
    """The dropout of one training pass. `seed` is a tensor, so that a compiled graph does not depend on the step."""

    def __init__(self, rate: float, seed: Tensor) -> None:
        self.seed = seed
        self.threshold = int(rate * _LOW)
        self.scale = 1.0 / (1.0 - rate)

    def rows(self, x: Tensor, site: int, keys: Tensor, layer: int = 0) -> Tensor:
        """Drops values of rows `[…, width]` with keys `[…]`, after activation `layer` of a site."""
        channels = torch.arange(x.shape[-1], device=x.device)
        return self._apply(x, self._starts(site, keys, layer).unsqueeze(-1), channels)

    def attention(self, weights: Tensor, site: int, keys: Tensor, channels: Tensor) -> Tensor:
        """Drops attention weights `[sets, heads, members, members]`; `channels` `[members, members]` number what a member attends to."""
        starts = [self._starts(site, keys, head) for head in range(weights.shape[1])]
        return self._apply(weights, torch.stack(starts, 1).unsqueeze(-1), channels)

    def _starts(self, site: int, keys: Tensor, layer: int) -> Tensor:
        stream = _mix(self.seed ^ _signed(_mix_int(site))) ^ layer
        return _mix(stream ^ (keys << 16)) & _LOW

    def _apply(self, x: Tensor, starts: Tensor, channels: Tensor) -> Tensor:
        kept = _avalanche((starts + channels * _CHANNEL) & _LOW) >= self.threshold
        return x * (kept.to(x.dtype) * self.scale)
