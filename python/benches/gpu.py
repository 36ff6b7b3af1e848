"""Measures the time of a training step on a GPU. The repository claims no figures of it.

    python gpu.py yeast                       # created if it does not exist
    python gpu.py yeast --model hetero --batch 28 --dtype bfloat16
    python gpu.py yeast --model transformer --compile
    python gpu.py tiny --preset tiny --device cpu --steps 3
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

import knockout
import knockout.torch

MODELS = {
    "dango": (knockout.torch.Dango, 2048),
    "hetero": (knockout.torch.Hetero, 28),
    "transformer": (knockout.torch.Transformer, 2048),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="yeast")
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32", help="data type of autocast")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--recompute", action="store_true", help="hetero: less memory, more time")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU; use --device cpu to try the script")
    dataset = knockout.Dataset(options.data) if options.data.exists() else knockout.synth(options.data, options.preset)
    for name in [options.model] if options.model else MODELS:
        kind, usual = MODELS[name]
        model = kind.from_dataset(dataset).to(options.device)
        if options.recompute and name == "hetero":
            model.recompute = True
        batch = options.batch or usual
        measure(name, model, knockout.Loader(dataset, batch=batch), options)


def measure(name: str, model: knockout.torch.Model, loader: knockout.Loader, options: argparse.Namespace) -> None:
    device = torch.device(options.device)
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loss_of = torch.compile(model.loss, dynamic=True) if options.compile else model.loss
    times, cpu_times, samples = [], [], 0
    for step in range(options.steps + 2):
        wait()
        began, cpu_began = time.perf_counter(), time.process_time()
        batch = loader[step % len(loader)]
        genes, offsets, score = (torch.from_numpy(batch[key]).to(device) for key in ("genes", "offsets", "score"))
        with torch.autocast(device.type, getattr(torch, options.dtype), enabled=options.dtype != "float32"):
            loss = loss_of(genes, offsets, model.standardise(score))
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        wait()
        if step >= 2:  # the first steps compile and allocate
            times.append(time.perf_counter() - began)
            cpu_times.append(time.process_time() - cpu_began)
            samples = len(score)
    found = {
        "model": name,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else device.type,
        "dtype": options.dtype,
        "compiled": options.compile,
        "batch": samples,
        "steps": len(times),
        "ms_per_step": round(1e3 * statistics.median(times), 3),
        "ms_range": [round(1e3 * min(times), 3), round(1e3 * max(times), 3)],
        "cpu_ms_per_step": round(1e3 * statistics.median(cpu_times), 3),
        "samples_per_s": round(samples / statistics.median(times), 1),
    }
    if device.type == "cuda":
        found["peak_bytes"] = torch.cuda.max_memory_allocated()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
