//! Batches of a part of a dataset, in the order of training.
//!
//! A batch is a pure function of (rows, seed, epoch, index, rank, world), so any worker process or rank can make any batch.

use crate::dataset::Dataset;
use crate::error::Fault;
use knockout_data::batch::{MaskLayout, MaskMethod, MaskSection, MaskSet, Subgraph};
use knockout_data::cell::Cell;
use knockout_train::loader::{Loader, LoaderOptions, LoaderPlan, Shards};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::{Arc, Mutex, PoisonError};

/// Batches of some rows of a dataset.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Batches {
    dataset: Arc<knockout_data::screen::Dataset>,
    /// Loader over the rows of all ranks; gives the order of an epoch.
    loader: Loader,
    row_count: usize,
    batch: usize,
    drop_last: bool,
    rank: usize,
    world: usize,
    /// This rank's rows of the last epoch used.
    order: Mutex<Option<(u64, Arc<[u32]>)>>,
}

/// Representation of deletions.
#[derive(Clone, Copy)]
enum Form {
    Genes,
    Masks,
    Packed,
    Graphs,
}

impl Form {
    fn of(name: &str) -> Result<Self, Fault> {
        match name {
            "genes" => Ok(Self::Genes),
            "masks" => Ok(Self::Masks),
            "packed" => Ok(Self::Packed),
            "graphs" => Ok(Self::Graphs),
            _ => Err(Fault::request(format!(
                "unknown form {name:?}; choose from genes, masks, packed, graphs"
            ))),
        }
    }
}

#[pymethods]
impl Batches {
    #[new]
    #[pyo3(signature = (dataset, rows, batch, shuffle, seed, rank, world, drop_last = false))]
    fn new(
        dataset: &Dataset,
        rows: PyReadonlyArray1<'_, u32>,
        batch: usize,
        shuffle: bool,
        seed: u64,
        rank: usize,
        world: usize,
        drop_last: bool,
    ) -> PyResult<Self> {
        let (dataset, rows) = (dataset.get()?, rows.as_array().to_vec());
        if batch == 0 {
            return Err(Fault::request("batch is 0; it must be at least one sample").into());
        }
        if rank >= world {
            return Err(
                Fault::request(format!("rank {rank} of {world} does not exist; ranks count from 0")).into()
            );
        }
        let count = dataset.samples.len();
        if let Some(row) = rows.iter().find(|&&row| row as usize >= count) {
            return Err(
                Fault::request(format!("row {row} does not exist; the dataset has {count} samples")).into()
            );
        }
        if rows.len() < world {
            let message = format!("{} samples for {world} ranks; every rank needs at least one", rows.len());
            return Err(Fault::request(message).into());
        }
        let options = LoaderOptions::default();
        let plan =
            LoaderPlan { options, batch_size: batch, drop_last, shuffle, seed, shards: Shards::whole() };
        let loader = Loader::new(&dataset, &rows, plan);
        Ok(Self {
            dataset,
            loader,
            row_count: rows.len(),
            batch,
            drop_last,
            rank,
            world,
            order: Mutex::new(None),
        })
    }

    /// Returns the number of batches of an epoch. It is the same for every rank unless the batch size is 1 and no batch is dropped.
    fn __len__(&self) -> usize {
        if self.drop_last {
            return self.row_count / self.world / self.batch;
        }
        let widest = if self.batch == 1 { self.own_count() } else { self.row_count.div_ceil(self.world) };
        widest.div_ceil(self.batch)
    }

    /// Returns this rank's rows of an epoch, in order.
    fn order<'py>(&self, py: Python<'py>, epoch: u64) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.rows_of(py, epoch))
    }

    /// Returns a batch of an epoch. An index out of range raises `IndexError`.
    fn get<'py>(
        &self,
        py: Python<'py>,
        epoch: u64,
        index: usize,
        form: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let form = Form::of(form)?;
        if index >= self.__len__() {
            let message = format!("batch index {index} is out of range for {} batches", self.__len__());
            return Err(pyo3::exceptions::PyIndexError::new_err(message));
        }
        let order = self.rows_of(py, epoch);
        let rows = &order[self.begin(index)..self.begin(index + 1)];
        let batch = self.fetch(py, rows)?;
        match form {
            Form::Genes => {}
            Form::Masks => self.add_masks(py, rows, &batch)?,
            Form::Packed => self.add_packed(py, rows, &batch)?,
            Form::Graphs => self.add_graphs(py, rows, &batch)?,
        }
        Ok(batch)
    }
}

impl Batches {
    /// Returns the number of this rank's rows.
    fn own_count(&self) -> usize {
        (self.row_count - self.rank).div_ceil(self.world)
    }

    /// Returns the index of a batch's first row among this rank's rows. On a rank with one row less than others the last batch takes a row
    /// of the one before, so that all ranks take the same number of steps.
    fn begin(&self, index: usize) -> usize {
        let (own, last) = (self.own_count(), self.__len__() - 1);
        match index {
            _ if self.drop_last => index * self.batch,
            _ if index > last => own,
            _ if index == last => (index * self.batch).min(own - 1),
            _ => index * self.batch,
        }
    }

    fn rows_of(&self, py: Python<'_>, epoch: u64) -> Arc<[u32]> {
        // Locked only while attached, so that no other thread can fork or wait for the interpreter with the lock.
        let last = || self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, rows)) = &*last()
            && *of == epoch
        {
            return Arc::clone(rows);
        }
        let rows: Arc<[u32]> = py.detach(|| {
            let all = self.loader.order(epoch).into_iter();
            all.skip(self.rank).step_by(self.world).collect()
        });
        *last() = Some((epoch, Arc::clone(&rows)));
        rows
    }

    /// Returns gene indices, offsets, scores and rows.
    fn fetch<'py>(&self, py: Python<'py>, rows: &[u32]) -> PyResult<Bound<'py, PyDict>> {
        let samples = &self.dataset.samples;
        let (mut genes, mut offsets) =
            (Vec::with_capacity(3 * rows.len()), Vec::with_capacity(rows.len() + 1));
        offsets.push(0_i64);
        for &row in rows {
            genes.extend(samples.genes(row as usize).iter().map(|&gene| i64::from(gene)));
            offsets.push(genes.len() as i64);
        }
        let scores = rows.iter().map(|&row| samples.scores()[row as usize] as f32);
        let batch = PyDict::new(py);
        batch.set_item("genes", PyArray1::from_vec(py, genes))?;
        batch.set_item("offsets", PyArray1::from_vec(py, offsets))?;
        batch.set_item("score", PyArray1::from_vec(py, scores.collect()))?;
        batch.set_item("rows", PyArray1::from_vec(py, rows.iter().map(|&row| i64::from(row)).collect()))?;
        Ok(batch)
    }

    /// Adds masks of one byte per gene and per edge, true if kept.
    fn add_masks(&self, py: Python<'_>, rows: &[u32], batch: &Bound<'_, PyDict>) -> PyResult<()> {
        let (cell, samples) = (&self.dataset.cell, &self.dataset.samples);
        let (genes, networks) = py.detach(|| {
            let mut genes = Array2::from_elem((rows.len(), cell.genes().len()), true);
            let mut networks: Vec<Array2<bool>> = cell
                .networks()
                .iter()
                .map(|network| Array2::from_elem((rows.len(), network.edge_count()), true))
                .collect();
            for (slot, &row) in rows.iter().enumerate() {
                let deletion = samples.deletion(row as usize);
                deletion.genes().iter().for_each(|gene| genes[[slot, gene.index()]] = false);
                for (network, kept) in cell.networks().iter().zip(&mut networks) {
                    for edge in deletion.removed_edges(network) {
                        kept[[slot, edge as usize]] = false;
                    }
                }
            }
            (genes, networks)
        });
        batch.set_item("gene_mask", PyArray2::from_owned_array(py, genes))?;
        let masks = PyDict::new(py);
        for (network, kept) in cell.networks().iter().zip(networks) {
            masks.set_item(network.name(), PyArray2::from_owned_array(py, kept))?;
        }
        batch.set_item("edge_masks", masks)
    }

    /// Adds masks of one bit per gene and per edge, for `numpy.unpackbits(…, bitorder="little")`.
    fn add_packed(&self, py: Python<'_>, rows: &[u32], batch: &Bound<'_, PyDict>) -> PyResult<()> {
        let (cell, samples) = (&*self.dataset.cell, &self.dataset.samples);
        let sections = packed_sections(cell);
        let arrays = py.detach(|| {
            let layout = MaskLayout::of(cell);
            let mut mask = MaskSet::all_kept(&layout);
            let width = |section: MaskSection| 8 * mask.words(&layout, section).len();
            let mut arrays: Vec<Vec<u8>> =
                sections.iter().map(|&section| Vec::with_capacity(rows.len() * width(section))).collect();
            for &row in rows {
                mask.assign(&layout, cell, &samples.deletion(row as usize), MaskMethod::ByIncidence);
                for (&section, bytes) in sections.iter().zip(&mut arrays) {
                    bytes.extend(mask.words(&layout, section).iter().flat_map(|word| word.to_le_bytes()));
                }
            }
            arrays
        });
        let shaped = |bytes: Vec<u8>| {
            let width = bytes.len() / rows.len().max(1);
            PyArray1::from_vec(py, bytes).reshape([rows.len(), width])
        };
        let mut arrays = arrays.into_iter();
        batch.set_item("gene_mask", shaped(arrays.next().unwrap_or_default())?)?;
        let masks = PyDict::new(py);
        for (network, bytes) in cell.networks().iter().zip(arrays) {
            masks.set_item(network.name(), shaped(bytes)?)?;
        }
        batch.set_item("edge_masks", masks)
    }

    /// Adds the cell rebuilt without the deleted genes, for each sample: the kept genes, and CSR arrays of every network in their numbering.
    fn add_graphs(&self, py: Python<'_>, rows: &[u32], batch: &Bound<'_, PyDict>) -> PyResult<()> {
        let (cell, samples) = (&*self.dataset.cell, &self.dataset.samples);
        let mut subgraph = Subgraph::empty(cell);
        let graphs = PyList::empty(py);
        for &row in rows {
            let (kept, rebuilt) = py.detach(|| {
                subgraph.assign(cell, &samples.deletion(row as usize));
                let is_kept = |gene: &u32| !samples.genes(row as usize).contains(gene);
                let kept: Vec<i64> = (0..cell.genes().len() as u32).filter(is_kept).map(i64::from).collect();
                let arrays = subgraph.networks.iter().map(|network| {
                    let starts: Vec<i32> = network.offsets.iter().map(|&offset| offset as i32).collect();
                    let targets: Vec<i32> = network.targets.iter().map(|target| target.0 as i32).collect();
                    (starts, targets)
                });
                (kept, arrays.collect::<Vec<_>>())
            });
            let (graph, networks) = (PyDict::new(py), PyDict::new(py));
            graph.set_item("genes", PyArray1::from_vec(py, kept))?;
            for (network, (starts, targets)) in cell.networks().iter().zip(rebuilt) {
                let arrays = (PyArray1::from_vec(py, starts), PyArray1::from_vec(py, targets));
                networks.set_item(network.name(), arrays)?;
            }
            graph.set_item("networks", networks)?;
            graphs.append(graph)?;
        }
        batch.set_item("graphs", graphs)
    }
}

/// Returns the sections of a mask: genes first, then the networks in order.
fn packed_sections(cell: &Cell) -> Vec<MaskSection> {
    let networks = (0..cell.networks().len()).map(MaskSection::Network);
    [MaskSection::Genes].into_iter().chain(networks).collect()
}
