"""Trains DANGO or the hetero model with PyTorch, on a GPU if there is one, and turns the weights into a run.

    python train_torch.py yeast runs/torch --model dango --epochs 20
    knockout evaluate runs/torch
"""

import argparse
from pathlib import Path

import torch

import knockout
import knockout.torch

MODELS = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the dataset; created if it does not exist")
    parser.add_argument("run", type=Path, help="new folder of the run")
    parser.add_argument("--model", choices=MODELS, default="dango")
    parser.add_argument("--preset", default="small", help="preset of a dataset that is created")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, as in `knockout train`")
    options = parser.parse_args()
    dataset = knockout.Dataset(options.data) if options.data.exists() else knockout.synth(options.data, options.preset)
    settings = dict(setting.split("=", 1) for setting in options.set)
    config = knockout.config(dataset, options.model, settings=settings)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    model = MODELS[options.model].from_dataset(dataset, settings=settings).to(device)
    rate, decay = config["optimiser"]["learning_rate"], config["optimiser"]["weight_decay"]
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    # The training part of the split of the run.
    batches = knockout.torch.dataloader(model.loader(dataset), num_workers=options.workers, pin_memory=device == "cuda")
    mean = float("nan")
    for epoch in range(options.epochs):
        total, count = 0.0, 0
        for batch in batches:
            genes, offsets, score = (batch[key].to(device, non_blocking=True) for key in ("genes", "offsets", "score"))
            loss = model.loss(genes, offsets, model.standardise(score), epoch=epoch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimiser.step()
            total, count = total + loss.item() * len(score), count + len(score)
        mean = total / count
        print(f"epoch {epoch + 1}: loss {mean:.4f}")
    run = knockout.adopt(dataset, options.model, model.state_dict(), train_loss=mean, out=options.run, settings=model.settings)
    print(run.evaluate())
    print(f"next: knockout evaluate {run.folder}")


if __name__ == "__main__":
    main()
