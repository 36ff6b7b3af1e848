#!/usr/bin/env python3
"""Writes `cases/transformer/small`: the transformer the way its reference computes it, with torch's own layers.

    pip install torch numpy safetensors
    python transformer_case.py cases

All genes of every sample are transformed, attention and penalty are dense; knockout computes neither.
"""
import hashlib
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch import nn

N, WIDTH, HEADS, LAYERS, PENALTY_LAYER, WEIGHT = 14, 8, 2, 2, 0, 0.5
SETS = [[0], [3, 1], [2, 5, 9], [7, 0, 4], [9, 2, 5], [13, 6], [0, 1], [2, 5, 9], [13]]
torch.manual_seed(5)
torch.set_num_threads(1)
EDGES = {
    "coexpression": torch.unique(torch.randint(0, N - 2, (40, 2)), dim=0),
    "physical": torch.tensor([[0, 1], [1, 0], [3, 7], [7, 3], [2, 2]]),
    "regulatory": torch.unique(torch.randint(0, N - 1, (25, 2)), dim=0),
}
TARGETS = torch.randn(len(SETS), dtype=torch.float64)


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.5)
    nn.init.normal_(layer.bias, std=0.3)
    return layer


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (linear(WIDTH, WIDTH) for _ in range(4))
        self.feed = nn.ModuleDict({"in": linear(WIDTH, 4 * WIDTH), "out": linear(4 * WIDTH, WIDTH)})
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        for norm in (self.norm1, self.norm2):
            nn.init.normal_(norm.weight, 1.0, 0.2)
            nn.init.normal_(norm.bias, std=0.2)

    def forward(self, x, context):
        """The new states of x, and the attention weights [heads, x, context]."""
        mixed, weights = nn.functional.multi_head_attention_forward(
            x, context, context, WIDTH, HEADS, torch.cat([self.query.weight, self.key.weight, self.value.weight]),
            torch.cat([self.query.bias, self.key.bias, self.value.bias]), None, None, False, 0.0,
            self.output.weight, self.output.bias, training=False, need_weights=True, average_attn_weights=False)
        x = self.norm1(x + mixed)
        return self.norm2(x + self.feed["out"](nn.functional.gelu(self.feed["in"](x)))), weights


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gene_embedding = nn.Parameter(torch.randn(N, WIDTH))
        self.cls = nn.Parameter(torch.randn(WIDTH))
        self.encoder = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.transform = Block()
        self.readout = nn.ModuleDict({"hidden": linear(2 * WIDTH, WIDTH), "score": linear(WIDTH, 1)})

    def forward(self):
        tokens, penalties = torch.cat([self.cls[None], self.gene_embedding]), []
        for layer, block in enumerate(self.encoder):
            tokens, weights = block(tokens, tokens)
            for at, edges in enumerate(EDGES.values()):
                if PENALTY_LAYER + at // HEADS == layer:
                    target = torch.zeros(N, N, dtype=tokens.dtype)
                    target[edges[:, 0], edges[:, 1]] = 1.0
                    rows = target.sum(1) > 0
                    target = target[rows] / target[rows].sum(1, keepdim=True)
                    alpha = weights[at % HEADS, 1:, 1:][rows]
                    penalties.append(nn.functional.kl_div((alpha + 1e-8).log(), target, reduction="batchmean"))
        scores, members = [], []
        for genes in SETS:
            states, _ = self.transform(tokens[1:], tokens[1:][genes])
            members.append(states[genes])
            pooled = torch.cat([tokens[0], states[genes].mean(0)])
            scores.append(self.readout["score"](torch.relu(self.readout["hidden"](pooled))))
        return tokens, torch.cat(members), torch.cat(scores), torch.stack(penalties).mean()


def ours(name):
    for part in ("query", "key", "value", "output"):
        name = name.replace(f".{part}.", f".attention.{part}.")
    return name


def results(model):
    dtype = model.cls.dtype
    tokens, members, scores, penalty = model()
    total = ((scores - TARGETS.to(dtype)) ** 2).mean() + WEIGHT * penalty
    model.zero_grad()
    total.backward()
    out = {"output.tokens": tokens, "output.members": members, "output.scores": scores,
           "loss.penalty": penalty.reshape(1), "loss.total": total.reshape(1)}
    out.update({f"grad.{ours(name)}": value.grad for name, value in model.named_parameters()})
    return {name: value.detach().clone() for name, value in out.items()}


model = Model()
parameters = {f"param.{ours(name)}": value.detach().clone() for name, value in model.named_parameters()}
narrow, wide = results(model), results(model.double())
tensors, listed = {}, []
for name, value in {**parameters, **narrow}.items():
    tensors[name] = value.contiguous()
    entry = {"name": name, "dtype": "f32", "shape": list(value.shape)}
    if name in wide:
        size = float(wide[name].abs().max())
        gap = float((narrow[name].double() - wide[name]).abs().max())
        entry |= {"max_abs": float(f"{size:.4g}"), "f32_vs_f64": float(f"{gap:.2g}"),
                  "atol_f32": float(f"{max(20 * gap, 2e-5 * size, 1e-6):.2g}"),
                  "atol_f64": float(f"{max(1e-9 * size, 1e-10):.2g}")}
        tensors[name + ".f64"] = wide[name].contiguous()
    listed.append(entry)
for name, edges in EDGES.items():
    tensors[f"input.edges.{name}"] = edges.T.contiguous()
tensors["input.targets"] = TARGETS
tensors["input.perturbation.genes"] = torch.tensor([gene for genes in SETS for gene in genes])
tensors["input.perturbation.offsets"] = torch.tensor([sum(map(len, SETS[:at])) for at in range(len(SETS) + 1)])

root, name = pathlib.Path(sys.argv[1]), "transformer/small"
folder = root / name
folder.mkdir(parents=True, exist_ok=True)
what = "cell graph transformer: forward, MSE with graph penalty, gradients"
case = {"name": name, "what": what,
        "sizes": {"genes": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "sets": len(SETS)},
        "options": {"networks": list(EDGES), "penalty_layer": PENALTY_LAYER, "lambda_graph": WEIGHT},
        "torch": torch.__version__.split("+")[0], "tensors": listed}
(folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
save_file(tensors, folder / "tensors.safetensors")
content = (folder / "tensors.safetensors").read_bytes()
index = json.loads((root / "index.json").read_text())
index["cases"] = [entry for entry in index["cases"] if entry["case"] != name]
index["cases"].append({"case": name, "what": what, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
(root / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n")
