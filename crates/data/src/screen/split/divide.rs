//! From ordered units to parts.

use super::keys::Keys;
use super::{Division, Part, Scheme, check_subset};
use knockout_base::error::{Error, Result};
use std::collections::HashMap;

type Parts = [Vec<u32>; 3];

pub(super) fn divide(keys: &Keys<'_>, scheme: Scheme, division: Division) -> Result<Parts> {
    match division {
        Division::Shares { val, test } => {
            let is_share = |share: f64| (0.0..1.0).contains(&share);
            if !is_share(val) || !is_share(test) || val + test >= 1.0 {
                return Err(Error::request(format!(
                    "shares val {val} and test {test} must lie between 0 and 1 and leave something to train on"
                )));
            }
        }
        Division::Fold { folds, fold } => {
            if folds < 3 || fold >= folds {
                return Err(Error::request(format!(
                    "fold {fold} of {folds}: there must be at least 3 folds, and the fold is counted from 0"
                )));
            }
        }
    }
    let mut parts = match scheme {
        Scheme::Random => {
            let mut order = keys.records_in_order("record");
            // Further alleles of a set follow its first row, so that merging them would give the same parts.
            order.retain(|&row| keys.is_first(row));
            let units: Vec<Vec<u32>> = order.iter().map(|&row| vec![row]).collect();
            let unit_count = units.len();
            keep_equal_sets_together(keys, &order, &deal(units, unit_count, division))
        }
        Scheme::PairDisjoint => {
            let units = keys.pairs_in_order().map_err(|row| {
                Error::request(format!(
                    "sample {row} has no query pair, so there is nothing to keep apart; use the scheme random or \
                     gene-disjoint"
                ))
            })?;
            deal(units, keys.samples.len(), division)
        }
        Scheme::GeneDisjoint => by_genes(keys, division),
    };
    for rows in &mut parts {
        rows.sort_unstable();
    }
    Ok(parts)
}

/// Moves all records of a gene set to the part of the first one. A model sees only the genes: of a set that was
/// measured twice (as a deletion and as an allele, by two laboratories), one record would reveal the other.
fn keep_equal_sets_together(keys: &Keys<'_>, order: &[u32], dealt: &Parts) -> Parts {
    let mut part_of_row = vec![Part::Train; keys.samples.len()];
    for (rows, part) in dealt.iter().zip(Part::ALL) {
        for &row in rows {
            part_of_row[row as usize] = part;
        }
    }
    let mut part_of_set: HashMap<&[u32], Part> = HashMap::with_capacity(order.len());
    let mut parts = Parts::default();
    for &row in order {
        let part = *part_of_set.entry(keys.samples.genes(row as usize)).or_insert(part_of_row[row as usize]);
        parts[part as usize].push(row);
    }
    for row in (0..keys.samples.len() as u32).filter(|&row| !keys.is_first(row)) {
        // The first row of its set and kind is in the order.
        parts[part_of_set[keys.samples.genes(row as usize)] as usize].push(row);
    }
    parts
}

/// Deals units of rows so that each part (or fold) is always as full as its share asks.
fn deal(units: Vec<Vec<u32>>, row_count: usize, division: Division) -> Parts {
    let targets: Vec<f64> = match division {
        Division::Shares { val, test } => vec![1.0 - val - test, val, test],
        Division::Fold { folds, .. } => vec![1.0 / f64::from(folds); folds as usize],
    };
    let mut bins = vec![Vec::new(); targets.len()];
    for unit in units {
        // The bin that is relatively emptiest; of equals the first. A share of 0 takes nothing.
        let fullness = |bin: usize| {
            if targets[bin] > 0.0 {
                bins[bin].len() as f64 / (targets[bin] * row_count as f64)
            } else {
                f64::INFINITY
            }
        };
        let emptiest = (0..bins.len()).min_by(|&a, &b| fullness(a).total_cmp(&fullness(b))).unwrap_or(0);
        bins[emptiest].extend(unit);
    }
    let mut parts = Parts::default();
    for (bin, rows) in bins.into_iter().enumerate() {
        parts[part_of(bin as u32, division) as usize].extend(rows);
    }
    parts
}

fn part_of(bin: u32, division: Division) -> Part {
    match division {
        Division::Shares { .. } => Part::ALL[bin as usize],
        Division::Fold { fold, .. } if bin == fold => Part::Test,
        Division::Fold { folds, fold } if bin == (fold + 1) % folds => Part::Val,
        Division::Fold { .. } => Part::Train,
    }
}

/// Divides the genes, then assigns each sample by its genes.
///
/// With shares, genes become test genes until the samples they take with them reach the test share, then val genes likewise:
/// the share is one of samples, because a few genes have many samples.
fn by_genes(keys: &Keys<'_>, division: Division) -> Parts {
    let samples = keys.samples;
    let genes = keys.genes_in_order();
    let mut part_of_gene = vec![Part::Train; genes.iter().max().map_or(0, |&gene| gene as usize + 1)];
    match division {
        Division::Fold { folds, .. } => {
            for (index, &gene) in genes.iter().enumerate() {
                part_of_gene[gene as usize] = part_of(index as u32 % folds, division);
            }
        }
        Division::Shares { val, test } => {
            let mut rows_of_gene = vec![Vec::new(); part_of_gene.len()];
            let counted: Vec<usize> = (0..samples.len()).filter(|&row| keys.is_first(row as u32)).collect();
            for &row in &counted {
                for &gene in samples.genes(row) {
                    rows_of_gene[gene as usize].push(row as u32);
                }
            }
            let mut is_taken = vec![false; samples.len()];
            let mut rest = genes.iter();
            for (part, share) in [(Part::Test, test), (Part::Val, val)] {
                let mut taken = 0;
                while (taken as f64) < share * counted.len() as f64 {
                    let Some(&gene) = rest.next() else { break };
                    part_of_gene[gene as usize] = part;
                    for &row in &rows_of_gene[gene as usize] {
                        taken += usize::from(!std::mem::replace(&mut is_taken[row as usize], true));
                    }
                }
            }
        }
    }
    let mut parts = Parts::default();
    for row in 0..samples.len() {
        // Test outranks val, val outranks train: the order of the enum.
        let part =
            samples.genes(row).iter().map(|&gene| part_of_gene[gene as usize]).max().unwrap_or(Part::Train);
        parts[part as usize].push(row as u32);
    }
    parts
}

/// Returns the position of each record in the order in which subsets take them.
fn ranks(keys: &Keys<'_>) -> Vec<u32> {
    let mut ranks = vec![0_u32; keys.samples.len()];
    for (index, row) in keys.records_in_order("subset").into_iter().enumerate() {
        ranks[row as usize] = index as u32;
    }
    ranks
}

/// Keeps the first `wanted` rows of a part.
fn keep_first(rows: &mut Vec<u32>, wanted: usize, ranks: &[u32]) {
    rows.sort_unstable_by_key(|&row| ranks[row as usize]);
    rows.truncate(wanted);
    rows.sort_unstable();
}

/// Keeps `wanted` rows of the training part, and the others whole.
pub(super) fn shrink_train(keys: &Keys<'_>, parts: &mut Parts, wanted: usize) -> Result<()> {
    let train = &mut parts[Part::Train as usize];
    if wanted > train.len() {
        return Err(Error::request(format!(
            "{wanted} samples to train on were requested, but the training part has {}",
            train.len()
        )));
    }
    keep_first(train, wanted, &ranks(keys));
    Ok(())
}

/// Keeps `wanted` rows, from each part in proportion.
pub(super) fn shrink(keys: &Keys<'_>, parts: &mut Parts, wanted: usize) -> Result<()> {
    let have = keys.samples.len();
    check_subset(wanted, have)?;
    let ranks = ranks(keys);
    // Rounded down for val and test (at least one each where there is one); train takes the remainder.
    let mut quota = parts.each_ref().map(|rows| {
        let share = (rows.len() as u128 * wanted as u128 / have.max(1) as u128) as usize;
        share.max(usize::from(!rows.is_empty() && wanted >= 3))
    });
    quota[0] = wanted.saturating_sub(quota[1] + quota[2]).min(parts[0].len());
    for (rows, quota) in parts.iter_mut().zip(quota) {
        keep_first(rows, quota, &ranks);
    }
    Ok(())
}
