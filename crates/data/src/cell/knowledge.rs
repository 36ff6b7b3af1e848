//! Networks, features and annotations that derive from genetic interactions.
//!
//! Such an input carries measurements like those that a model predicts. Figures on genes without a sample are then higher than for genes that
//! were never screened.

/// Returns whether the name of a network, a feature or annotations is that of a known source of genetic interactions.
///
/// The words are those of screens (Costanzo, Kuzmin, SGA, E-MAP), of `genetic` networks of SGD and BioGRID, and of BIONIC, whose published yeast
/// features integrate genetic interactions.
pub fn is_known_interaction_source(name: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["costanzo", "kuzmin", "bionic", "thecellmap", "cellmap", "emap"];
    const WORDS: [&str; 4] = ["genetic", "sga", "gi", "epistasis"];
    let name = name.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| WORDS.contains(&word) || BEGINNINGS.iter().any(|start| word.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_known_sources_are_recognised() {
        for name in
            ["biogrid_genetic", "genetic", "costanzo2016-similarity", "BIONIC_12", "SGA.profiles", "kuzmin"]
        {
            assert!(is_known_interaction_source(name), "{name}");
        }
        for name in [
            "physical",
            "string12_0_coexpression",
            "regulatory",
            "genetics_notes",
            "essential",
            "fitness",
            "go",
        ] {
            assert!(!is_known_interaction_source(name), "{name}");
        }
    }
}
