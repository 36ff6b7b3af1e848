//! Recipes, and sources as they are written on the command line.
#![no_main]

use knockout_sources::import::Recipe;
use knockout_sources::import::recipe::{AnnotationSource, GeneSource, NetworkSource, ScreenSource};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(recipe) = Recipe::from_toml(text) {
        assert_eq!(Recipe::from_toml(&recipe.to_toml()).expect("what was written reads back"), recipe);
    }
    text.parse::<GeneSource>().ok();
    text.parse::<NetworkSource>().ok();
    text.parse::<AnnotationSource>().ok();
    text.parse::<ScreenSource>().ok();
});
