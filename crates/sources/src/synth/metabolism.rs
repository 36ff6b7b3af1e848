//! A metabolism with yeast-GEM's proportions.

use crate::synth::config::MetabolismConfig;
use crate::synth::weighted::Weighted;
use knockout_base::error::Result;
use knockout_base::random::Rng;
use knockout_data::cell::{GeneId, Metabolism, Metabolite, RawReaction, Rule, expand};

/// Proportions of the real model: two reactions in three have a rule, two in five run both ways.
const WITH_RULE: f64 = 0.656;
const REVERSIBLE: f64 = 0.404;
/// Chance of one more alternative, and of one more gene inside an alternative.
const MORE_ALTERNATIVES: f64 = 0.27;
const MORE_GENES: f64 = 0.06;
/// Chance of one more metabolite beyond two.
const MORE_METABOLITES: f64 = 0.63;
const COMPARTMENTS: [&str; 4] = ["c", "m", "e", "p"];

pub(crate) fn metabolism(config: &MetabolismConfig, gene_names: &[String], seed: u64) -> Result<Metabolism> {
    let mut rng = Rng::new(seed, "metabolism");
    let metabolites: Vec<Metabolite> = (0..config.metabolites)
        .map(|row| Metabolite {
            id: format!("s_{row:04}"),
            name: format!("metabolite {row}"),
            compartment: COMPARTMENTS[rng.below(COMPARTMENTS.len())].to_owned(),
        })
        .collect();
    let mut enzymes: Vec<u32> = (0..gene_names.len() as u32).collect();
    rng.shuffle(&mut enzymes);
    enzymes.truncate(config.genes);
    let enzyme_weights = Weighted::by_rank(&(0..enzymes.len()).collect::<Vec<_>>(), 0.5, 0.0);
    // A few metabolites (ATP, water) are in everything.
    let metabolite_weights = Weighted::by_rank(&(0..metabolites.len()).collect::<Vec<_>>(), 0.9, 0.0);

    let mut raw = Vec::with_capacity(config.reactions);
    for row in 0..config.reactions {
        let rule = if rng.unit() < WITH_RULE && !enzymes.is_empty() {
            let pick = |rng: &mut Rng| {
                gene_names[enzymes[enzyme_weights.choose(rng, 0..enzymes.len())] as usize].clone()
            };
            Rule::parse(&rule_text(&mut rng, pick)).unwrap_or(None)
        } else {
            None
        };
        let stoichiometry = stoichiometry(&mut rng, &metabolite_weights, metabolites.len());
        raw.push(RawReaction {
            id: format!("r_{row:04}"),
            subsystem: if row + 1 == config.reactions { "Growth" } else { "Metabolism" }.to_owned(),
            alternatives: alternatives(rule.as_ref(), gene_names),
            reversible: rng.unit() < REVERSIBLE,
            stoichiometry,
        });
    }
    let (reactions, requirements, coefficients) = expand(&raw);
    Metabolism::new(gene_names.len(), reactions, metabolites, requirements, coefficients)
}

/// A rule as a model file would write it, complexes in parentheses; read back by the parser importers use.
fn rule_text(rng: &mut Rng, pick: impl Fn(&mut Rng) -> String) -> String {
    let mut alternatives = Vec::new();
    loop {
        let mut genes = vec![pick(rng)];
        while rng.unit() < MORE_GENES {
            genes.push(pick(rng));
        }
        alternatives.push(if genes.len() == 1 {
            genes.remove(0)
        } else {
            format!("({})", genes.join(" and "))
        });
        if rng.unit() >= MORE_ALTERNATIVES {
            return alternatives.join(" or ");
        }
    }
}

fn alternatives(rule: Option<&Rule>, gene_names: &[String]) -> Vec<Vec<GeneId>> {
    let Some(sets) = rule.and_then(|rule| rule.alternatives(1_000).ok()) else { return Vec::new() };
    // Names are sorted, so a search finds the row.
    let row = |name: &String| gene_names.binary_search(name).ok().map(|row| GeneId(row as u32));
    sets.iter().map(|set| set.iter().filter_map(row).collect()).collect()
}

fn stoichiometry(rng: &mut Rng, weights: &Weighted, metabolite_count: usize) -> Vec<(u32, f64)> {
    let mut wanted = 2;
    while rng.unit() < MORE_METABOLITES && wanted < metabolite_count {
        wanted += 1;
    }
    let mut entries: Vec<(u32, f64)> = Vec::with_capacity(wanted);
    while entries.len() < wanted.min(metabolite_count) {
        let metabolite = weights.choose(rng, 0..metabolite_count) as u32;
        if entries.iter().all(|&(known, _)| known != metabolite) {
            let amount = [1.0, 1.0, 1.0, 1.0, 2.0, 3.0][rng.below(6)];
            // Reactants and products by turns: every reaction has both.
            entries.push((metabolite, if entries.len().is_multiple_of(2) { -amount } else { amount }));
        }
    }
    entries
}
