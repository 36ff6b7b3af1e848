"""Records tiny training programs with the PyTorch profiler on a CPU, with timers inside the program.

    python record.py accelerate    # accelerate.json.gz, with Hugging Face accelerate
    python record.py ddp           # ddp-rank0.json.gz and ddp-rank1.json.gz: two processes, DistributedDataParallel over gloo
    python record.py plain         # plain.json.gz: `record_shapes` and FLOP as the profiler counts them

Needs torch, and accelerate for the first. Each writes its timers into NAME.timers.json: milliseconds by phase of the recorded steps.
The recordings here were made with PyTorch 2.15.0 and accelerate 1.15.0.
"""

import gzip
import json
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

HERE = Path(__file__).resolve().parent
WIDTH, BATCH, STEPS, FIRST = 384, 256, 4, 3


class Timers:
    """Milliseconds by phase of the steps from FIRST on."""

    def __init__(self):
        self.step, self.ms = 0, {}

    def __call__(self, phase):
        return Timer(self, phase)


class Timer:
    def __init__(self, timers, phase):
        self.timers, self.phase = timers, phase

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *_):
        if self.timers.step >= FIRST:
            ms = 1000 * (time.perf_counter() - self.start)
            self.timers.ms[self.phase] = self.timers.ms.get(self.phase, 0.0) + ms


class Rows(torch.utils.data.Dataset):
    """Rows that take a while to load; those of `slow` take longer."""

    def __init__(self, ms):
        self.ms = ms

    def __len__(self):
        return 64 * BATCH

    def __getitem__(self, index):
        return torch.full((WIDTH,), float(index % 7)), torch.tensor([float(index % 3)])

    def __getitems__(self, indices):
        time.sleep(self.ms / 1000)
        return [self[index] for index in indices]


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, 1))


def recorder(on_ready, **options):
    return profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=FIRST - 1, warmup=1, active=STEPS),
        on_trace_ready=on_ready,
        **options,
    )


def write(prof, name):
    """Writes the trace without what names the machine, and with times and shapes as they are."""
    path = HERE / f"{name}.json"
    prof.export_chrome_trace(str(path))
    document = json.loads(path.read_text())
    path.unlink()
    document.pop("traceName", None)
    document.pop("baseTimeNanoseconds", None)
    for event in document["traceEvents"]:
        for key in ("Input Strides", "Record function id", "Ev Idx", "External id", "Concrete Inputs Strides"):
            event.get("args", {}).pop(key, None)
    text = json.dumps(document, separators=(",", ":"))
    (HERE / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def train(loader, network, optimiser, backward, name, timers, **options):
    loss_of = nn.MSELoss()
    batches = iter(loader)
    with recorder(lambda prof: write(prof, name), **options) as prof:
        for step in range(FIRST + STEPS):
            timers.step = step
            with timers("data loading"):
                rows, targets = next(batches)
            with timers("forward"):
                loss = loss_of(network(rows), targets)
            with timers("backward"):
                backward(loss)
            with timers("optimiser"):
                optimiser.step()
                optimiser.zero_grad()
            prof.step()
    (HERE / f"{name}.timers.json").write_text(json.dumps({"steps": STEPS, "ms": timers.ms}, indent=1) + "\n")
    return prof


def loader(ms, workers=0):
    return torch.utils.data.DataLoader(Rows(ms), batch_size=BATCH, num_workers=workers)


def accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    network = model()
    optimiser = torch.optim.AdamW(network.parameters())
    network, optimiser, batches = accelerator.prepare(network, optimiser, loader(10))
    train(batches, network, optimiser, accelerator.backward, "accelerate", Timers(), with_stack=False)


def ddp_rank(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", GLOO_SOCKET_IFNAME="lo")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    network = nn.parallel.DistributedDataParallel(model())
    optimiser = torch.optim.AdamW(network.parameters())
    # Rank 1 loads longer: rank 0 waits for it.
    train(loader(5 + 40 * rank), network, optimiser, lambda loss: loss.backward(), f"ddp-rank{rank}", Timers())
    torch.distributed.destroy_process_group()


def ddp():
    torch.multiprocessing.spawn(ddp_rank, nprocs=2)


def plain():
    """A convolution, products and attention, forward and backward, with the profiler's own count of operations beside them."""

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 16, 3, stride=2, padding=1)
            self.wide = nn.Linear(16, 64)
            self.out = nn.Linear(64, 8)

        def forward(self, images):
            x = torch.relu(self.conv(images)).flatten(2).transpose(1, 2)
            x = self.wide(x)
            heads = x.unflatten(2, (4, 16)).transpose(1, 2)
            x = x + nn.functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)
            scores = torch.bmm(x, x.transpose(1, 2)) * 0.1
            return self.out(torch.bmm(scores, x)).mean()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = Small()
    images = torch.randn(4, 3, 32, 32)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as prof:
        for _ in range(2):
            network(images).backward()
    write(prof, "plain")
    rows = {}
    for row in prof.key_averages(group_by_input_shape=True):
        if row.flops:
            rows[f"{row.key} {json.dumps(row.input_shapes)}"] = {"calls": row.count, "flop": row.flops}
    (HERE / "plain.flops.json").write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    {"accelerate": accelerate, "ddp": ddp, "plain": plain}[sys.argv[1]]()
