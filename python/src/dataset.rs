//! A dataset and its splits.

use crate::error::{Fault, raise};
use crate::page::Page;
use crate::{array, workers};
use knockout_data::cell::{Deletion, GeneId, Network};
use knockout_data::screen::{DEFAULT_SPLIT_SEED, DatasetSummary, Part};
use knockout_report::lab::{DeletionDocument, GeneDocument, dataset_page, deletion_page, gene_page};
use knockout_sources::lists;
use knockout_train::config::SplitOptions;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// An open dataset.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Dataset {
    path: PathBuf,
    /// `None` once closed.
    inner: Mutex<Option<Arc<knockout_data::screen::Dataset>>>,
}

impl Dataset {
    pub(crate) fn get(&self) -> PyResult<Arc<knockout_data::screen::Dataset>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(|| {
            raise("ClosedError", format!("the dataset {} is closed; open it again", self.path.display()))
        })
    }

    pub(crate) fn folder(&self) -> &PathBuf {
        &self.path
    }
}

/// Columns of a network: row starts, targets, sources, weights.
type NetworkArrays<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f32>>,
);

#[pymethods]
impl Dataset {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let inner = workers::run(py, |_| Ok(knockout_data::screen::Dataset::open(&path)?))?;
        Ok(Self { path, inner: Mutex::new(Some(Arc::new(inner))) })
    }

    /// Releases the memory; existing arrays stay valid.
    fn close(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.get()?.manifest.name.clone())
    }

    /// Returns the content hash of all data files.
    #[getter]
    fn data_hash(&self) -> PyResult<String> {
        Ok(self.get()?.manifest.data_hash())
    }

    #[getter]
    fn sample_count(&self) -> PyResult<usize> {
        Ok(self.get()?.samples.len())
    }

    #[getter]
    fn gene_count(&self) -> PyResult<usize> {
        Ok(self.get()?.cell.genes().len())
    }

    /// Returns systematic and standard names, in the order of the gene table.
    fn gene_names(&self) -> PyResult<(Vec<String>, Vec<Option<String>>)> {
        let dataset = self.get()?;
        let genes = dataset.cell.genes().genes().iter();
        Ok(genes.map(|gene| (gene.systematic.clone(), gene.standard.clone())).unzip())
    }

    /// Returns the rows of the gene table of systematic or standard names.
    fn find_genes<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let dataset = self.get()?;
        let found = lists::find_genes(&names, dataset.cell.genes(), "the list").map_err(Fault::from)?;
        Ok(PyArray1::from_vec(py, found))
    }

    fn network_names(&self) -> PyResult<Vec<String>> {
        Ok(self.get()?.cell.networks().iter().map(|network| network.name().to_owned()).collect())
    }

    /// Returns the arrays of a network, without copies.
    fn network<'py>(&self, py: Python<'py>, name: &str) -> PyResult<NetworkArrays<'py>> {
        let dataset = self.get()?;
        let networks = dataset.cell.networks();
        let index = networks.iter().position(|network| network.name() == name).ok_or_else(|| {
            let known: Vec<&str> = networks.iter().map(Network::name).collect();
            Fault::request(format!("unknown network {name:?}; choose from {}", known.join(", ")))
        })?;
        Ok((
            array::view(py, &dataset, |dataset| dataset.cell.networks()[index].outgoing().offsets())?,
            array::view(py, &dataset, |dataset| dataset.cell.networks()[index].targets())?,
            array::view(py, &dataset, |dataset| dataset.cell.networks()[index].sources())?,
            array::view(py, &dataset, |dataset| dataset.cell.networks()[index].weights())?,
        ))
    }

    /// Returns the samples by column; ragged columns as `NAME` and `NAME_offsets`, unknown numbers as NaN.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dataset = self.get()?;
        let (samples, columns) = (&dataset.samples, PyDict::new(py));
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let numbers = |of: &dyn Fn(usize) -> f64| PyArray1::from_iter(py, (0..samples.len()).map(of));
        columns
            .set_item("genes", array::view(py, &dataset, |dataset| dataset.samples.gene_sets().genes())?)?;
        columns.set_item(
            "genes_offsets",
            array::view(py, &dataset, |dataset| dataset.samples.gene_sets().offsets())?,
        )?;
        columns.set_item("score", array::view(py, &dataset, |dataset| dataset.samples.scores())?)?;
        columns.set_item("p_value", numbers(&|row| number(samples.get(row).p_value)))?;
        let (mut query, mut offsets) = (Vec::new(), vec![0_u32]);
        for row in 0..samples.len() {
            query.extend_from_slice(samples.query(row));
            offsets.push(query.len() as u32);
        }
        columns.set_item("query", PyArray1::from_vec(py, query))?;
        columns.set_item("query_offsets", PyArray1::from_vec(py, offsets))?;
        columns.set_item("kind", samples.iter().map(|sample| sample.kind).collect::<Vec<_>>())?;
        columns.set_item("fitness", numbers(&|row| number(samples.get(row).fitness)))?;
        columns.set_item("fitness_sd", numbers(&|row| number(samples.get(row).fitness_sd)))?;
        columns.set_item("source", samples.iter().map(|sample| sample.source).collect::<Vec<_>>())?;
        let duplicates = (0..samples.len()).map(|row| samples.get(row).duplicates);
        columns.set_item("duplicates", PyArray1::from_iter(py, duplicates))?;
        Ok(columns)
    }

    /// Splits the samples. `options` are the keys `split.*` of a configuration, as JSON.
    fn split(&self, py: Python<'_>, options: &str) -> PyResult<Split> {
        let dataset = self.get()?;
        let options = split_options(options)?;
        let split = workers::run(py, |_| Ok(options.apply(&dataset)?))?;
        Ok(Split { split })
    }

    /// Returns the document and the page of `knockout data show`.
    fn summary(&self, py: Python<'_>) -> PyResult<Page> {
        let dataset = self.get()?;
        workers::run(py, |_| {
            let summary = DatasetSummary::of(&dataset, DEFAULT_SPLIT_SEED);
            Page::of(dataset_page(&summary), &summary)
        })
    }

    /// Returns the document and the page of `knockout data show --gene`.
    fn gene(&self, name: String) -> PyResult<Page> {
        let dataset = self.get()?;
        let [gene] = gene_ids(&dataset, &[name])?[..] else {
            return Err(Fault::failure("one name is one gene").into());
        };
        let document = GeneDocument::of(&dataset, gene).map_err(Fault::from)?;
        Ok(Page::of(gene_page(&document), &document)?)
    }

    /// Returns the document and the page of `knockout data delete`.
    fn deletion(&self, names: Vec<String>) -> PyResult<Page> {
        let dataset = self.get()?;
        let deletion = Deletion::new(&gene_ids(&dataset, &names)?).map_err(Fault::from)?;
        let document = DeletionDocument::of(&dataset, &deletion);
        Ok(Page::of(deletion_page(&document), &document)?)
    }
}

fn gene_ids(dataset: &knockout_data::screen::Dataset, names: &[String]) -> Result<Vec<GeneId>, Fault> {
    Ok(lists::find_genes(names, dataset.cell.genes(), "the list")?.into_iter().map(GeneId).collect())
}

/// Reads the keys `split.*` of a configuration.
pub(crate) fn split_options(text: &str) -> Result<SplitOptions, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::request(format!("cannot split the samples: {error}")))
}

/// The rows of the training, validation and test parts.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Split {
    split: knockout_data::screen::Split,
}

/// Returns a part by its name.
pub(crate) fn part_of(name: &str) -> Result<Part, Fault> {
    let found = Part::ALL.into_iter().find(|part| part.name() == name);
    found.ok_or_else(|| Fault::request(format!("unknown part {name:?}; choose from train, val, test")))
}

#[pymethods]
impl Split {
    /// Returns the rows of a part, ascending.
    fn rows<'py>(&self, py: Python<'py>, part: &str) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(PyArray1::from_slice(py, self.split.rows(part_of(part)?)))
    }

    #[getter]
    fn scheme(&self) -> &'static str {
        self.split.spec().scheme.name()
    }
}
