//! Content features in every network: gradients, and that the default does not read them.

use super::networks::{NETWORKS, cell};
use knockout_data::cell::Cell;
use knockout_models::ModelConfig;

#[test]
fn gradients_equal_differences_of_the_loss() {
    let cell = cell();
    for network in NETWORKS {
        for choice in ["beside", "instead"] {
            let worst = network.worst_gradient(&cell, "features", choice.into(), 4);
            assert!(worst.tolerances < 1.0, "{}, {choice}: {worst:?}", network.name);
        }
    }
}

fn names(config: &ModelConfig, cell: &Cell) -> Vec<String> {
    let model = config.build(cell, 1).expect("it can be built");
    model.parameters().iter().map(|entry| entry.name().to_owned()).collect()
}

#[test]
fn features_are_read_where_they_are_asked_for() {
    let cell = cell();
    let bare = cell.clone().with_features(None).expect("no features are fine");
    for network in NETWORKS {
        let name = network.name;
        let config = |choice: &str| network.with(&cell, "features", choice.into());
        let none = config("none");
        assert_eq!(network.defaults(&cell), network.defaults(&bare), "{name}: off by default");
        assert_eq!(network.defaults(&cell)["features"].as_str(), Some("none"), "{name}: off by default");
        let (first, second) = (none.build(&cell, 1), none.build(&bare, 1));
        let (first, second) = (first.expect("built"), second.expect("built"));
        for (one, two) in first.parameters().iter().zip(second.parameters().iter()) {
            assert_eq!(one.values(), two.values(), "{name}: the same bits");
        }
        let (plain, beside) = (names(&none, &cell), names(&config("beside"), &cell));
        let instead = names(&config("instead"), &cell);
        assert_eq!(beside.len(), plain.len() + 2, "{name}");
        assert!(beside.contains(&"gene_features.weight".to_owned()), "{name}");
        assert!(beside.contains(&"gene_embedding".to_owned()), "{name}");
        assert!(!instead.contains(&"gene_embedding".to_owned()), "{name}");
        let error = config("instead").build(&bare, 1).err().expect("refused").to_string();
        assert!(error.starts_with("model.features is instead, but the dataset has no features"), "{error}");
    }
}
