//! The order in which many gene sets are looked up. It knows neither tables nor models, only that a set's answer depends on the set alone.

use knockout_cell::GeneSetsRef;

/// Last genes of a tile: four tables of their rows stay in a core's cache.
const TILE_GENES: u32 = 32;

/// What `one` says of each set, in their order.
///
/// Pairs are asked for tile by tile of their last genes: a list of all pairs would otherwise run through every table once for each first gene.
/// Other sets are asked for as they come, because neighbours share what a triple's first two genes cost.
pub(crate) fn each(sets: GeneSetsRef<'_>, mut one: impl FnMut(&[u32]) -> f64) -> Vec<f64> {
    let tile = |set: &[u32]| (set[1] / TILE_GENES) as usize;
    if sets.iter().any(|set| set.len() != 2) {
        return sets.iter().map(one).collect();
    }
    let tiles = sets.iter().map(tile).max().map_or(0, |last| last + 1);
    let mut places = vec![0_usize; tiles + 1];
    sets.iter().for_each(|set| places[tile(set) + 1] += 1);
    (0..tiles).for_each(|at| places[at + 1] += places[at]);
    let mut order = vec![0_u32; sets.len()];
    for (place, set) in (0..).zip(sets.iter()) {
        let next = &mut places[tile(set)];
        order[*next] = place;
        *next += 1;
    }
    let mut answers = vec![0.0; sets.len()];
    for place in order {
        answers[place as usize] = one(sets.get(place as usize));
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::each;
    use knockout_cell::GeneSets;

    fn answers(sets: &[&[u32]]) -> (Vec<f64>, Vec<u32>) {
        let mut held = GeneSets::default();
        sets.iter().for_each(|set| held.push(set));
        let mut last = Vec::new();
        let found = each(held.view(), |set| {
            last.push(set[set.len() - 1]);
            set.iter().fold(0.0, |sum, &gene| sum * 1000.0 + f64::from(gene))
        });
        (found, last)
    }

    #[test]
    fn answers_stand_at_their_sets_and_tiles_are_asked_in_turn() {
        let (found, last) = answers(&[&[0, 40], &[0, 99], &[1, 5], &[2, 41], &[3, 7]]);
        assert_eq!(found, [40.0, 99.0, 1005.0, 2041.0, 3007.0]);
        assert_eq!(last, [5, 7, 40, 41, 99]);
    }

    #[test]
    fn sets_of_other_sizes_are_asked_as_they_come() {
        let (found, last) = answers(&[&[0, 40], &[1, 2, 3], &[4]]);
        assert_eq!(found, [40.0, 1_002_003.0, 4.0]);
        assert_eq!(last, [40, 3, 4]);
        assert_eq!(answers(&[]).0, Vec::<f64>::new());
    }
}
