"""Screens as `AnnData`, the format of scverse: export and import of scores and networks.

>>> import knockout, knockout.anndata, tempfile
>>> data = knockout.anndata.to_anndata(knockout.Dataset(tiny))
>>> data.shape, sorted(data.varp)
((2000, 200), ['physical', 'regulatory', 'string12_0_coexpression'])
>>> with tempfile.TemporaryDirectory() as folder:
...     len(knockout.anndata.from_anndata(data, f"{folder}/again"))
2000
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy

from . import _knockout
from ._extras import require
from .dataset import Dataset
from .errors import RequestError

__all__ = ["from_anndata", "to_anndata"]


def to_anndata(dataset: Dataset) -> Any:
    """Returns a screen as `AnnData`: a row for every sample, a column for every gene.

    `X` is 1 where the gene is deleted; `obs` has `score`, `perturbation` (names joined by `+`, as pertpy writes them) and the other columns of
    the samples; `var` has the genes by systematic name with their standard names; `varp` has the networks, row = source.
    """
    require("anndata", "anndata", "pandas", "scipy")
    import anndata
    import pandas
    from scipy.sparse import csr_matrix

    columns = dict(dataset.samples("dict"))
    genes, offsets = columns.pop("genes"), columns.pop("genes_offsets")
    columns.pop("query"), columns.pop("query_offsets")
    names = pandas.DataFrame(dataset.genes("dict"))
    shown = names["standard"].fillna(names["systematic"]).tolist()
    columns["perturbation"] = ["+".join(shown[gene] for gene in genes[begin:end]) for begin, end in zip(offsets[:-1], offsets[1:])]
    deleted = numpy.ones(len(genes), dtype=numpy.float32)
    matrix = csr_matrix((deleted, genes.astype(numpy.int32), offsets.astype(numpy.int32)), shape=(len(dataset), dataset.gene_count))
    obs = pandas.DataFrame(columns, index=[str(row) for row in range(len(dataset))])
    var = names.set_index("systematic")
    varp = {name: csr_matrix(dataset.network(name).csr()) for name in dataset.networks}
    return anndata.AnnData(X=matrix, obs=obs, var=var, varp=varp, uns={"knockout": {"data_hash": dataset.data_hash, "name": dataset.name}})


def from_anndata(data: Any, out: str | PathLike[str], *, score: str = "score") -> Dataset:
    """Creates a dataset from `AnnData` in the form of `to_anndata`, and opens it.

    Genes are the columns; a sample deletes the genes whose value in `X` is not 0; `obs[score]` has the scores, and samples without one are
    left out. Every matrix of `varp` becomes a network with its values as weights. `var["standard"]` is optional.
    """
    from scipy.sparse import coo_matrix, csr_matrix

    if score not in data.obs:
        raise RequestError(f"obs has no column {score!r}; choose from {', '.join(map(str, data.obs.columns))}")
    standard = data.var["standard"].tolist() if "standard" in data.var else [None] * data.n_vars
    names = [(str(name), other if isinstance(other, str) and other else None) for name, other in zip(data.var_names, standard)]
    scores = data.obs[score].to_numpy(dtype=numpy.float64)
    measured = numpy.isfinite(scores)
    matrix = csr_matrix(data.X)[measured]
    matrix.eliminate_zeros()
    matrix.sort_indices()
    networks = []
    for name, network in data.varp.items():
        edges = coo_matrix(network)
        networks.append((str(name), edges.row.astype(numpy.uint32), edges.col.astype(numpy.uint32), edges.data.astype(numpy.float32)))
    _knockout.write_dataset(
        fspath(out), names, networks, matrix.indices.astype(numpy.uint32), matrix.indptr.astype(numpy.uint32), scores[measured]
    )
    return Dataset(out)
