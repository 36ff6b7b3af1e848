//! Tests of files and programs that a checkout does not contain; ignored where they are missing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod expected;
mod jobs;
mod judgements;
mod logs;
mod modules;

use knockout_testdata::Resource;

knockout_testdata::tests!(
    Resource::Traces =>
        expected::all_expected_figures_are_reproduced,
        expected::what_the_generator_put_in_comes_out,
        expected::the_findings_do_not_depend_on_the_number_of_threads,
        expected::the_expected_comparison_is_reproduced,
        expected::two_ranks_stand_beside_each_other,
        expected::manual_optimisation_has_the_phases_that_timers_measured,
        expected::automatic_optimisation_has_the_phases_that_timers_measured,
        expected::every_awkward_file_gives_an_accepted_outcome,
        judgements::every_trace_is_answered_as_judged,
        judgements::communication_of_twelve_libraries_is_counted,
        judgements::steps_of_2021_have_no_operators_outside_any_phase,
        judgements::a_step_cut_by_the_recording_is_named,
        modules::modules_have_the_times_that_another_program_finds,
        jobs::a_real_job_of_eight_ranks_has_the_expected_waits,
        jobs::the_path_of_a_rank_that_waits_in_a_collective_is_communication,
        jobs::a_planted_straggler_is_named_with_its_reason,
        jobs::a_copy_that_blocks_counts_as_the_device_s_time;
    Resource::Seeds =>
        logs::an_average_over_five_figures_was_of_sanity_checks_and_one_step,
        logs::averages_over_twenty_figures_held_other_bars
);
