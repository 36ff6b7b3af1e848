//! The rows of a plan: the worked example of the module `plan`.

use super::super::*;
use super::network;
use crate::hetero::own_rows::OwnRows;
use knockout_engine::kernel::MASKED;

const GENES: [&str; 4] = ["A", "B", "C", "D"];

/// Genes of the only sample's own rows.
fn genes(rows: &OwnRows) -> Vec<&'static str> {
    rows.of(0).iter().map(|&gene| GENES[gene as usize]).collect()
}

#[test]
fn four_genes_with_one_deletion() {
    let (a, b, c, d) = (0, 1, 2, 3);
    let physical = network("physical", 0, 4, &[(a, b), (b, c), (c, d)]).graph;
    let regulatory = network("regulatory", 1, 4, &[(a, c)]).graph;
    let deleted = [a];
    let sets = GeneSetsRef::new(&[0, 1], &deleted);
    let plan = RowPlan::new(&[&physical, &regulatory], 4, sets, 2, Extent::Changed);
    let [first, second] = &plan.layers[..] else { panic!("two layers") };

    // Before the first layer the sample equals the wild type, but A is masked out.
    assert!(first.input.own_rows.is_empty());
    assert_eq!(first.input.row_of(0), [a | MASKED, b, c, d]);

    // Layer 1: A, and what A sends to.
    assert_eq!(genes(&first.networks[0]), ["A", "B"]);
    assert_eq!(genes(&first.networks[1]), ["A", "C"]);
    assert_eq!(genes(&first.output.own_rows), ["A", "B", "C"]);
    assert_eq!(first.output.row_of(0), [4 | MASKED, 5, 6, d]);
    // A row that a network did not compute is the wild type's.
    assert_eq!(*first.gather_indices[0], [a, b, c, d, 4, 5, c]);
    assert_eq!(*first.gather_indices[1], [a, b, c, d, 4, b, 5]);

    // Layer 2: everything that changed, and what it sends to.
    assert_eq!(genes(&second.networks[0]), ["A", "B", "C", "D"]);
    assert_eq!(genes(&second.networks[1]), ["A", "B", "C"]);
    assert_eq!(genes(&second.output.own_rows), ["A", "B", "C", "D"]);
    assert_eq!(second.output.row_of(0), [4 | MASKED, 5, 6, 7]);
    assert_eq!(*second.gather_indices[0], [a, b, c, d, 4, 5, 6, 7]);
    assert_eq!(*second.gather_indices[1], [a, b, c, d, 4, 5, 6, d]);

    let rows: Vec<usize> = plan.layers.iter().map(|layer| layer.output.rows()).collect();
    assert_eq!(rows, [7, 8]);
}
