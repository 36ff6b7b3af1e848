//! Tests of files and programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod real;
#[path = "../it/support/mod.rs"]
mod support;

use knockout_testdata::Resource;

knockout_testdata::tests!(
    Resource::Data =>
        real::sgd_features,
        real::dango_channels_match_the_reference,
        real::string_physical_links,
        real::plain_edge_lists,
        real::string_actions_as_an_edge_list,
        real::regulation_matrices,
        real::tflink_row_for_row,
        real::sgd_interactions_and_biogrid_header,
        real::yeast_gem_gives_the_reference_numbers_exactly,
        real::complexes_of_intact,
        real::screen_samples_row_for_row,
        real::raw_score_is_combined_minus_query_times_array,
        real::emap_screens,
        real::the_recipe_of_the_union,
        real::the_recipes_of_screens_alone,
        real::the_recipe_of_the_example
);
