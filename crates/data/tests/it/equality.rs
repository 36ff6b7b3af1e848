//! Every representation removes exactly the same edges and reactions.

use knockout_data::batch::{
    Batch, Collation, Graphs, LocalGene, MaskLayout, MaskMethod, MaskSection, MaskSet, Neighborhood, Origin,
    Processor, ProcessorKind, ResidentMasks, Store, StoreWriter, StoredForm, Subgraph,
};
use knockout_data::cell::{
    Cell, Coefficient, Deletion, Direction, Edge, GeneId, GeneTable, Metabolism, Metabolite, Network,
    Reaction, Requirement, SelfLoops,
};
use knockout_data::screen::{Sample, Samples, SamplesBuilder};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

const GENES: u32 = 70;
const REACTIONS: u32 = 9;

fn cell() -> impl Strategy<Value = Cell> {
    // Gene 0 is a hub; the last ten are isolated; repeated edges and self-loops occur.
    let end = prop_oneof![1 => Just(0), 4 => 0..GENES - 10];
    let edges = prop::collection::vec((end.clone(), end).prop_map(|(a, b)| Edge::new(a, b)), 0..300);
    let requirements = prop::collection::btree_set((0..REACTIONS, 0..GENES), 0..30);
    let coefficients = prop::collection::btree_set((0..REACTIONS, 0..5_u32), 0..30);
    (prop::collection::vec(edges, 1..4), requirements, coefficients).prop_map(
        |(networks, requirements, coefficients)| {
            let genes = GeneTable::from_systematic((0..GENES).map(|gene| format!("G{gene:03}"))).unwrap();
            let networks = networks
                .into_iter()
                .enumerate()
                .map(|(i, edges)| {
                    Network::from_edges(format!("n{i}"), GENES as usize, edges, SelfLoops::Keep).unwrap().0
                })
                .collect();
            let reaction = |i| Reaction {
                name: format!("r{i}"),
                reaction_id: format!("r{i}"),
                direction: Direction::Forward,
                subsystem: String::new(),
            };
            let metabolite =
                |i| Metabolite { id: format!("m{i}"), name: String::new(), compartment: String::new() };
            let metabolism = Metabolism::new(
                GENES as usize,
                (0..REACTIONS).map(reaction).collect(),
                (0..5).map(metabolite).collect(),
                requirements.into_iter().map(|(reaction, gene)| Requirement { reaction, gene }).collect(),
                coefficients
                    .into_iter()
                    .map(|(reaction, metabolite)| Coefficient { reaction, metabolite, value: 1.0 })
                    .collect(),
            )
            .unwrap();
            Cell::new(genes, networks, Some(metabolism)).unwrap()
        },
    )
}

fn deletions() -> impl Strategy<Value = Vec<Deletion>> {
    let set = prop::collection::btree_set(prop_oneof![1 => Just(0), 5 => 0..GENES], 1..=10);
    let deletion =
        set.prop_map(|genes| Deletion::new(&genes.into_iter().map(GeneId).collect::<Vec<_>>()).unwrap());
    prop::collection::vec(deletion, 1..6)
}

fn kept_edges(cell: &Cell, place: usize, deletion: &Deletion) -> Vec<(u32, u32)> {
    let network = &cell.networks()[place];
    let edges = network.sources().iter().copied().zip(network.targets().iter().copied());
    edges.filter(|&(a, b)| !deletion.contains(GeneId(a)) && !deletion.contains(GeneId(b))).collect()
}

fn edges_by_mask(cell: &Cell, place: usize, layout: &MaskLayout, mask: &MaskSet) -> Vec<(u32, u32)> {
    let network = &cell.networks()[place];
    (0..network.edge_count())
        .filter(|&position| mask.is_kept(layout, MaskSection::Network(place), position))
        .map(|position| (network.sources()[position], network.targets()[position]))
        .collect()
}

fn running(cell: &Cell, deletion: &Deletion) -> BTreeSet<u32> {
    let metabolism = cell.metabolism().unwrap();
    let needs =
        |reaction: u32| metabolism.requirements().iter().filter(move |entry| entry.reaction == reaction);
    (0..REACTIONS).filter(|&r| needs(r).all(|entry| !deletion.contains(GeneId(entry.gene)))).collect()
}

fn fresh_mask(layout: &MaskLayout, cell: &Cell, deletion: &Deletion, method: MaskMethod) -> MaskSet {
    let mut mask = MaskSet::all_kept(layout);
    mask.assign(layout, cell, deletion, method);
    mask
}

fn samples_of(deletions: &[Deletion]) -> Samples {
    let mut builder = SamplesBuilder::new(GENES as usize);
    for (row, deletion) in deletions.iter().enumerate() {
        let genes: Vec<u32> = deletion.genes().iter().map(|gene| gene.0).collect();
        let sample = Sample::deletion(&genes, row as f64, "test");
        builder.push(sample).unwrap();
    }
    builder.finish()
}

proptest! {
    #[test]
    fn masks_are_bit_equal_however_they_are_made(cell in cell(), deletions in deletions()) {
        let layout = MaskLayout::of(&cell);
        let mut resident = ResidentMasks::new(&layout, 1);
        for deletion in &deletions {
            let mask = fresh_mask(&layout, &cell, deletion, MaskMethod::ByIncidence);
            prop_assert_eq!(&mask, &fresh_mask(&layout, &cell, deletion, MaskMethod::ByEdge));
            resident.assign(&layout, &cell, 0, deletion);
            prop_assert_eq!(&resident.masks(1)[0], &mask);
            for place in 0..cell.networks().len() {
                prop_assert_eq!(edges_by_mask(&cell, place, &layout, &mask), kept_edges(&cell, place, deletion));
            }
            let kept: BTreeSet<u32> =
                (0..REACTIONS).filter(|&r| mask.is_kept(&layout, MaskSection::Reactions, r as usize)).collect();
            prop_assert_eq!(kept, running(&cell, deletion));
            prop_assert_eq!(mask.kept_count(&layout, MaskSection::Genes), GENES as usize - deletion.genes().len());
        }
    }

    #[test]
    fn a_rebuilt_graph_has_exactly_the_kept_edges_and_reactions(cell in cell(), deletions in deletions()) {
        let mut graph = Subgraph::empty(&cell);
        let metabolism = cell.metabolism().unwrap();
        for deletion in &deletions {
            graph.assign(&cell, deletion);
            let gene = |local: &LocalGene| graph.relabelling.gene(*local).0;
            for (place, edges) in graph.networks.iter().enumerate() {
                let back: Vec<(u32, u32)> = edges.edges().map(|(from, to)| (gene(&from), gene(&to))).collect();
                prop_assert_eq!(back, kept_edges(&cell, place, deletion));
                prop_assert_eq!(edges.offsets.len(), graph.relabelling.kept_count() + 1);
            }
            let running = running(&cell, deletion);
            prop_assert_eq!(&graph.reactions, &running.iter().copied().collect::<Vec<_>>());
            let requirements: Vec<(u32, u32)> = graph
                .requirements
                .iter()
                .map(|(reaction, local)| (graph.reactions[*reaction as usize], gene(local)))
                .collect();
            let expected: Vec<(u32, u32)> = metabolism
                .requirements()
                .iter()
                .filter(|entry| running.contains(&entry.reaction))
                .map(|entry| (entry.reaction, entry.gene))
                .collect();
            prop_assert_eq!(requirements, expected);
            let positions: Vec<u32> = graph.coefficients.iter().map(|entry| entry.2).collect();
            let expected: Vec<u32> = (0..metabolism.coefficients().len() as u32)
                .filter(|&p| running.contains(&metabolism.coefficients()[p as usize].reaction))
                .collect();
            prop_assert_eq!(positions, expected);
        }
    }

    #[test]
    fn a_neighbourhood_has_the_kept_edges_among_reached_genes(cell in cell(), deletions in deletions(), hops in 0..4_usize) {
        let mut graph = Neighborhood::empty(&cell);
        for deletion in &deletions {
            graph.assign(&cell, deletion, hops);
            let mut reached: BTreeSet<u32> = deletion.genes().iter().map(|gene| gene.0).collect();
            for _ in 0..hops {
                let next: Vec<u32> = reached
                    .iter()
                    .flat_map(|&gene| cell.networks().iter().flat_map(move |n| n.outgoing().row(gene as usize)))
                    .copied()
                    .collect();
                reached.extend(next);
            }
            prop_assert_eq!(&graph.genes, &reached.iter().copied().collect::<Vec<_>>());
            let gene = |local: &LocalGene| graph.genes[local.0 as usize];
            for (place, edges) in graph.networks.iter().enumerate() {
                let back: Vec<(u32, u32)> =
                    edges.sources.iter().map(gene).zip(edges.targets.iter().map(gene)).collect();
                let expected: Vec<(u32, u32)> = kept_edges(&cell, place, deletion)
                    .into_iter()
                    .filter(|(a, b)| reached.contains(a) && reached.contains(b))
                    .collect();
                prop_assert_eq!(back, expected);
            }
        }
    }

    #[test]
    fn sums_over_masked_and_rebuilt_graphs_are_bit_equal(cell in cell(), deletions in deletions(), state in prop::collection::vec(-1.0_f32..1.0, GENES as usize)) {
        let layout = MaskLayout::of(&cell);
        let mut graph = Subgraph::empty(&cell);
        for deletion in &deletions {
            graph.assign(&cell, deletion);
            let mask = fresh_mask(&layout, &cell, deletion, MaskMethod::ByIncidence);
            for place in 0..cell.networks().len() {
                let mut masked = vec![0.0_f32; GENES as usize];
                for (source, target) in edges_by_mask(&cell, place, &layout, &mask) {
                    masked[target as usize] += state[source as usize];
                }
                let mut rebuilt = vec![0.0_f32; graph.relabelling.kept_count()];
                for (source, target) in graph.networks[place].edges() {
                    rebuilt[target.0 as usize] += state[graph.relabelling.gene(source).index()];
                }
                for (local, sum) in rebuilt.iter().enumerate() {
                    let gene = graph.relabelling.gene(LocalGene(local as u32));
                    prop_assert_eq!(sum.to_bits(), masked[gene.index()].to_bits());
                }
                for gene in deletion.genes() {
                    prop_assert_eq!(masked[gene.index()], 0.0);
                }
            }
        }
    }

    #[test]
    fn replicated_lists_are_the_samples_one_after_the_other(cell in cell(), deletions in deletions()) {
        let (cell, samples) = (Arc::new(cell), samples_of(&deletions));
        let rows: Vec<u32> = (0..samples.len() as u32).collect();
        for kind in ProcessorKind::ALL.into_iter().filter(|kind| !kind.is_stored()) {
            let mut processor = Processor::new(&cell, kind, rows.len());
            let mut batch = Batch::default();
            batch.fetch(&samples, &rows);
            for (slot, deletion) in deletions.iter().enumerate() {
                processor.process(slot, slot as u32, deletion).unwrap();
            }
            batch.collate(&processor, Collation::Replicated);
            for (place, lists) in batch.replicated.iter().enumerate() {
                let mut expected = Vec::new();
                let mut offset = 0;
                for (slot, deletion) in deletions.iter().enumerate() {
                    let network = &cell.networks()[place];
                    let (edges, width): (Vec<(u32, u32)>, u32) = match processor.graphs(rows.len()) {
                        Graphs::Subgraphs(graphs) => {
                            let edges = graphs[slot].networks[place].edges();
                            (edges.map(|(a, b)| (a.0, b.0)).collect(), GENES - deletion.genes().len() as u32)
                        }
                        Graphs::Neighborhoods(graphs) => {
                            let list = &graphs[slot].networks[place];
                            let ends = list.sources.iter().zip(&list.targets);
                            (ends.map(|(a, b)| (a.0, b.0)).collect(), graphs[slot].genes.len() as u32)
                        }
                        _ => (network.sources().iter().copied().zip(network.targets().iter().copied()).collect(), GENES),
                    };
                    expected.extend(edges.into_iter().map(|(a, b)| (a + offset, b + offset)));
                    offset += width;
                }
                let found: Vec<(u32, u32)> =
                    lists.sources.iter().copied().zip(lists.targets.iter().copied()).collect();
                prop_assert_eq!(found, expected);
                if matches!(kind, ProcessorKind::Mask | ProcessorKind::ResidentMask) {
                    let expected: Vec<u8> = deletions
                        .iter()
                        .flat_map(|deletion| {
                            let network = &cell.networks()[place];
                            let gone = deletion.removed_edges(network);
                            (0..network.edge_count() as u32).map(move |p| u8::from(gone.binary_search(&p).is_err()))
                        })
                        .collect();
                    prop_assert_eq!(&lists.is_kept, &expected);
                } else {
                    prop_assert!(lists.is_kept.is_empty());
                }
            }
            batch.collate(&processor, Collation::Shared);
            prop_assert!(batch.replicated.is_empty());
            for (slot, deletion) in deletions.iter().enumerate() {
                prop_assert_eq!(batch.genes.get(slot), deletion.genes().iter().map(|g| g.0).collect::<Vec<_>>());
            }
        }
    }
}

proptest! {
    // Each case writes three stores for good, so there are fewer.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn stored_masks_and_indices_are_bit_equal_to_computed_ones(cell in cell(), deletions in deletions(), neighbours in any::<bool>()) {
        let mut deletions = deletions;
        if neighbours {
            // Gene 1 loses every neighbour it has, in every network.
            let around: BTreeSet<u32> = cell
                .networks()
                .iter()
                .flat_map(|n| n.outgoing().row(1).iter().chain(n.incoming().row(1)).copied())
                .filter(|&gene| gene != 1)
                .collect();
            deletions.extend(Deletion::new(&around.into_iter().map(GeneId).collect::<Vec<_>>()));
        }
        let samples = samples_of(&deletions);
        let cell = Arc::new(cell);
        let origin = Origin { cell: &cell, samples: &samples };
        let rows: Vec<u32> = (0..samples.len() as u32).collect();
        let layout = MaskLayout::of(&cell);
        let folder = tempfile::tempdir().unwrap();
        let mut resident = ResidentMasks::new(&layout, 1);
        for form in [StoredForm::Indices, StoredForm::Bits, StoredForm::Bytes] {
            let path = folder.path().join(form.name());
            let mut writer = StoreWriter::open(&path, origin, form, &rows).unwrap();
            while writer.step().unwrap() > 0 {}
            drop(writer);
            let store = Arc::new(Store::open(&path, origin).unwrap());
            let mut stored = Processor::new(&cell, form.kind(), rows.len()).with_store(Some(&store));
            let mut computed = Processor::new(&cell, ProcessorKind::Mask, rows.len());
            for (slot, deletion) in deletions.iter().enumerate() {
                stored.process(slot, slot as u32, deletion).unwrap();
                computed.process(slot, slot as u32, deletion).unwrap();
                let Graphs::Masks(_, masks) = stored.graphs(slot + 1) else { unreachable!("{form:?} gives masks") };
                for method in [MaskMethod::ByIncidence, MaskMethod::ByEdge] {
                    prop_assert_eq!(&masks[slot], &fresh_mask(&layout, &cell, deletion, method));
                }
                resident.assign(&layout, &cell, 0, deletion);
                prop_assert_eq!(&masks[slot], &resident.masks(1)[0]);
            }
            let replicated = [&stored, &computed].map(|processor| {
                let mut batch = Batch::default();
                batch.fetch(&samples, &rows);
                batch.collate(processor, Collation::Replicated);
                batch.replicated
            });
            prop_assert_eq!(&replicated[0], &replicated[1]);
        }
    }
}

#[test]
fn a_gene_outside_the_cell_is_refused() {
    let genes = GeneTable::from_systematic(["A", "B"]).unwrap();
    let cell = Arc::new(Cell::new(genes, Vec::new(), None).unwrap());
    for kind in ProcessorKind::ALL {
        let mut processor = Processor::new(&cell, kind, 2);
        let error = processor.process(1, 1, &Deletion::new(&[GeneId(0), GeneId(2)]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "sample 1 of the batch deletes gene 2, but the cell has 2");
    }
}
