#!/usr/bin/env python3
"""Writes the cases of `cases/`: one small case per family, by the script that makes the full set of golden numbers.

    pip install torch numpy safetensors geomloss torch_geometric
    python small_profile.py FOLDER_OF_MAKE_GOLDEN cases
"""
import sys

sys.path.insert(0, sys.argv[1])
import make_golden as golden  # noqa: E402

OPTIMISER = {"lr": 3e-3, "weight_decay": 0.1, "betas": [0.9, 0.999], "eps": 1e-8, "clip_norm": 0.1, "steps": 2}
HETERO = {"width": 4, "gin_hidden": 4, "layers": 1, "gin_linears": 2, "cross_heads": 2, "pair_hidden": 4,
          "pair_linears": 2, "local": True, "local_heads": 2, "local_layers": 1, "combination": "gating",
          "activation": "gelu", "norm": "node"}
EDGES = {"coexpression": 40, "genetic": 0, "physical": 20}

golden.torch.set_num_threads(1)
golden.torch.use_deterministic_algorithms(True)
golden.torch.manual_seed(0)
book = golden.Book(sys.argv[2], 1, "small")
golden.dango_case(book, "small", n=18, d=4, heads=2, full=False, alphas=[0.5, 0.5], opt=OPTIMISER,
                  edge_counts={"coexpression": 40, "fusion": 20, "cooccurence": 0},
                  lambdas={"coexpression": 0.1, "fusion": 1.0, "cooccurence": 1.0})
for aggregation, norm in [("pairwise_interaction", "node"), ("cross_attention", "graph")]:
    golden.hetero_case(book, f"small_{aggregation}", n=16, edge_counts=EDGES, opt=OPTIMISER,
                       o=dict(HETERO, aggregation=aggregation, norm=norm))
golden.ops(book, {"genes": 16, "width": 4, "heads": 2, "cross_heads": 2, "recon_genes": 16})
rest = dict(golden.base_profile()["rest"], metric_rows=40, base_genes=60, base_rows=400, base_pairs=20)
golden.losses(book, rest)
golden.metrics(book, rest)
golden.baselines(book, rest)
book.write()
