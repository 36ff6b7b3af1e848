//! Masked neighbour sums against numbers computed elsewhere, through every representation.

use knockout_data::batch::{
    Graphs, LocalGene, MaskSection, Origin, Processor, ProcessorKind, Store, StoreWriter, StoredForm,
};
use knockout_data::cell::{Cell, Edge, GeneId, GeneTable, Network, SelfLoops};
use knockout_data::screen::{Sample, Samples, SamplesBuilder};
use knockout_testdata::golden::{Case, Precision, cases};
use std::sync::Arc;

fn screen_of(case: &Case) -> (Cell, Samples) {
    let gene_count = case.shape("param.x")[1];
    let ends = case.indices("input.edges");
    let (sources, targets) = ends.split_at(ends.len() / 2);
    let edges = sources.iter().zip(targets).map(|(&source, &target)| Edge::new(source, target)).collect();
    let genes = GeneTable::from_systematic((0..gene_count).map(|gene| format!("G{gene:03}"))).unwrap();
    let network = Network::from_edges("n", gene_count, edges, SelfLoops::Keep).unwrap().0;
    let mut samples = SamplesBuilder::new(gene_count);
    let genes_of = case.indices("input.perturbation.genes");
    for range in case.indices("input.perturbation.offsets").windows(2) {
        let sample = Sample::deletion(&genes_of[range[0] as usize..range[1] as usize], 0.0, "golden");
        samples.push(sample).unwrap();
    }
    let cell = Cell::new(genes, vec![network], None).unwrap();
    (cell, samples.finish())
}

/// The edges each sample keeps, in the cell's numbering and order.
fn kept(
    cell: &Arc<Cell>,
    samples: &Samples,
    kind: ProcessorKind,
    store: Option<&Arc<Store>>,
) -> Vec<Vec<(u32, u32)>> {
    let count = samples.len();
    let mut processor = Processor::new(cell, kind, count).with_store(store);
    for row in 0..count {
        processor.process(row, row as u32, &samples.deletion(row)).unwrap();
    }
    let network = &cell.networks()[0];
    let edges: Vec<(u32, u32)> =
        network.sources().iter().copied().zip(network.targets().iter().copied()).collect();
    match processor.graphs(count) {
        Graphs::None => (0..count)
            .map(|row| {
                let deletion = samples.deletion(row);
                let is_kept =
                    |&(a, b): &(u32, u32)| !deletion.contains(GeneId(a)) && !deletion.contains(GeneId(b));
                edges.iter().copied().filter(is_kept).collect()
            })
            .collect(),
        Graphs::Masks(layout, masks) => masks
            .iter()
            .map(|mask| {
                let is_kept = |position: usize| mask.is_kept(layout, MaskSection::Network(0), position);
                (0..edges.len()).filter(|&p| is_kept(p)).map(|p| edges[p]).collect()
            })
            .collect(),
        Graphs::Subgraphs(graphs) => graphs
            .iter()
            .map(|graph| {
                let gene = |local: LocalGene| graph.relabelling.gene(local).0;
                graph.networks[0].edges().map(|(a, b)| (gene(a), gene(b))).collect()
            })
            .collect(),
        Graphs::Neighborhoods(_) => unreachable!("a neighbourhood is only part of the graph"),
    }
}

/// Sums `state` along edges: into the targets, or back into the sources.
fn sums(case: &Case, kept: &[Vec<(u32, u32)>], state: &str, back: bool) -> Vec<f64> {
    let (genes, width) = (case.shape(state)[1], case.shape(state)[2]);
    let state = case.f64(state);
    let mut out = vec![0.0; state.len()];
    for (sample, edges) in kept.iter().enumerate() {
        for &(source, target) in edges {
            let (from, into) = if back { (target, source) } else { (source, target) };
            for column in 0..width {
                let at = |gene: u32| (sample * genes + gene as usize) * width + column;
                out[at(into)] += state[at(from)];
            }
        }
    }
    out
}

#[test]
fn every_representation_has_the_golden_masked_sums() {
    for case in cases("ops/masked_sum") {
        let (cell, samples) = screen_of(&case);
        let cell = Arc::new(cell);
        let origin = Origin { cell: &cell, samples: &samples };
        let rows: Vec<u32> = (0..samples.len() as u32).collect();
        let folder = tempfile::tempdir().unwrap();
        let stores = [StoredForm::Indices, StoredForm::Bits, StoredForm::Bytes].map(|form| {
            let path = folder.path().join(form.name());
            let mut writer = StoreWriter::open(&path, origin, form, &rows).unwrap();
            while writer.step().unwrap() > 0 {}
            drop(writer);
            Arc::new(Store::open(&path, origin).unwrap())
        });
        let plain = [
            ProcessorKind::Perturbation,
            ProcessorKind::Mask,
            ProcessorKind::ResidentMask,
            ProcessorKind::Subgraph,
        ];
        let all = plain
            .map(|kind| (kind, None))
            .into_iter()
            .chain(stores.iter().map(|store| (store.form().kind(), Some(store))));
        for (kind, store) in all {
            let kept = kept(&cell, &samples, kind, store);
            case.check("output.m", sums(&case, &kept, "param.x", false), Precision::F64);
            case.check("grad.x", sums(&case, &kept, "upstream.m", true), Precision::F64);
            let edge_count = case.shape("input.edge_kept")[1];
            for (row, edges) in kept.iter().enumerate() {
                let flags = &case.indices("input.edge_kept")[row * edge_count..(row + 1) * edge_count];
                assert_eq!(edges.len(), flags.iter().sum::<u32>() as usize, "{kind:?}, sample {row}");
            }
        }
    }
}
