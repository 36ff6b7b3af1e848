"""Trains DANGO, the hetero model or the transformer with PyTorch, on a GPU if there is one, and turns the weights into a run.

    python train_torch.py yeast runs/torch --model dango --epochs 20
    knockout evaluate runs/torch
"""

import argparse
from pathlib import Path

import torch

import knockout
import knockout.torch

MODELS = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero, "transformer": knockout.torch.Transformer}


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
    device = "cuda" if torch.cuda.is_available() else "cpu"

    model = MODELS[options.model].from_dataset(dataset, settings=settings).to(device)
    # The optimiser, its schedules, accumulation and clipping of the configuration.
    training = model.training_of()
    # The parts of the split of the run. Batches are planned by the workers and copied while the device computes.
    loading = {"num_workers": options.workers, "pin_memory": device == "cuda"}
    batches = knockout.torch.dataloader(model.loader("train"), model, **loading)
    model.eval()
    validation = knockout.torch.dataloader(model.loader("val", batch=model.config["run"]["predict_batch"]), model, **loading)

    def moved(batch: dict) -> dict:
        return {key: value.to(device, non_blocking=True) for key, value in batch.items()}

    best = (float("-inf"), model.state_dict(), 0.0)
    for epoch in range(options.epochs):
        model.train()
        total, count = torch.zeros((), device=device), 0
        for batch in map(moved, batches):
            at = {"epoch": training.epoch, "step": training.steps, "plan": batch["plan"]}
            loss = model(batch["genes"], batch["offsets"], model.targets(batch), **at)
            total += training.step(loss, len(batches)) * len(batch["score"])
            count += len(batch["score"])
        model.eval()
        with torch.no_grad():
            pairs = [(model.predict(b["genes"], b["offsets"], plan=b["plan"]), b["score"]) for b in map(moved, validation)]
        found = knockout.torch.metrics(*(torch.cat(values).cpu().numpy() for values in zip(*pairs)))
        training.end_epoch(found["mse"])
        mean = total.item() / count
        print(f"epoch {epoch + 1}: loss {mean:.4f}, validation Pearson {found['pearson']:.4f}")
        if found["pearson"] > best[0]:
            best = (found["pearson"], {name: value.clone() for name, value in model.state_dict().items()}, mean)
    # The best state, with the rows that it was trained on: none of them may be in the test part.
    run = model.adopt(weights=best[1], train_loss=best[2], out=options.run)
    print(run.evaluate())
    print(f"next: knockout evaluate {run.folder}")


if __name__ == "__main__":
    main()
