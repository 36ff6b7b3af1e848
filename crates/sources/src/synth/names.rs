//! Gene names that look like yeast's but belong to no gene: they begin with Z where yeast's begin with Y.

use knockout_base::random::Rng;
use knockout_data::cell::Gene;
use std::collections::BTreeSet;

/// Genes in the order of their systematic names: 16 chromosomes with two arms each.
pub(crate) fn genes(count: usize, seed: u64) -> Vec<Gene> {
    let mut rng = Rng::new(seed, "names");
    let arms = 32;
    let mut used = BTreeSet::new();
    let mut genes = Vec::with_capacity(count);
    for arm in 0..arms {
        let on_arm = count / arms + usize::from(arm < count % arms);
        let chromosome = char::from(b'A' + (arm / 2) as u8);
        let side = if arm % 2 == 0 { 'L' } else { 'R' };
        for number in 1..=on_arm {
            let strand = if rng.below(2) == 0 { 'W' } else { 'C' };
            let systematic = format!("Z{chromosome}{side}{number:03}{strand}");
            // Three genes in four have a standard name: three letters and a number.
            let standard = (rng.below(4) > 0).then(|| standard_name(&mut rng, &mut used));
            genes.push(Gene { systematic, standard });
        }
    }
    genes
}

fn standard_name(rng: &mut Rng, used: &mut BTreeSet<String>) -> String {
    loop {
        let mut letter = || char::from(b'A' + rng.below(26) as u8);
        let (a, b, c) = (letter(), letter(), letter());
        let name = format!("{a}{b}{c}{}", 1 + rng.below(30));
        if used.insert(name.clone()) {
            return name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_distinct() {
        let genes = genes(6_607, 0);
        assert_eq!(genes.len(), 6_607);
        assert!(genes.windows(2).all(|pair| pair[0].systematic < pair[1].systematic));
        assert!(genes[0].systematic.starts_with("ZAL001"));
    }
}
