//! `knockout trace compare`: what changed between two traces, and a gate for CI.

use super::findings::{self, Rescued};
use super::input::{self, DamageArgs};
use super::operators;
use crate::exit::{INCOMPARABLE, REGRESSED};
use crate::failure::{Failure, Result, request_error};
use crate::output::{self, ForceArg, OutputKind, write_text};
use crate::ui::Ui;
use clap::Args;
use knockout_analyze::{FEWEST_FOR_INTERVAL, TimeUnit, TraceComparison};
use std::path::{Path, PathBuf};

/// Compare two traces, or the ranks of two runs, per step: categories, operations, conditions
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout trace compare before.json.gz after.json.gz
  knockout trace compare before.json.gz after.json.gz --html diff.html
  knockout trace compare batch-64.json.gz batch-128.json.gz --samples-per-step 64,128
  knockout trace compare main.json.gz branch.json.gz --fail-above 1.05
  knockout trace compare before/rank*.json.gz --against after/rank*.json.gz

--fail-above looks at the step's wall time and at the low end of the ratio's spread: exit code 5
means slower beyond the threshold and beyond chance, 7 that conditions differ or that a side has
fewer than five steps to judge by.")]
pub(crate) struct TraceCompareArgs {
    /// The trace to compare with and the trace to judge, A and B; with --against the ranks of A alone
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// The trace to judge, or its ranks; ratios are b / a
    #[arg(long, value_name = "B", num_args = 1..)]
    against: Vec<PathBuf>,
    /// How events become categories: `default` or a TOML file
    #[arg(long, value_name = "RULES", default_value = "default")]
    rules: String,
    /// Also write the comparison as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
    /// Exit with code 5 if a step of B takes more than RATIO times as long as one of A
    #[arg(long, value_name = "RATIO")]
    fail_above: Option<f64>,
    /// Compare per sample: how many a step has in A and in B
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1, value_parser = parse_samples)]
    samples_per_step: Vec<f64>,
    #[command(flatten)]
    damage: DamageArgs,
}

fn parse_samples(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text:?} is not a number of samples; write two, such as 64,128"))
}

pub(crate) fn run(args: &TraceCompareArgs, ui: &Ui) -> Result<()> {
    if args.rules == "reference" {
        return Err(request_error(
            "trace compare compares self time, which --rules reference does not compute",
        ));
    }
    if let Some(ratio) = args.fail_above.filter(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
        return Err(request_error(format!("--fail-above {ratio} is not a ratio; 1.05 allows five per cent")));
    }
    if !matches!(args.samples_per_step.len(), 0 | 2) {
        return Err(request_error("--samples-per-step takes two numbers, of A and of B, such as 64,128"));
    }
    let rules = findings::rules(&args.rules)?;
    let mut rescued = Rescued::default();
    let (a, b) = sides(args)?;
    if let Some(path) = &args.html {
        let mut inputs = output::paths(a.iter().chain(b));
        inputs.push(Path::new(&args.rules));
        output::check(path, OutputKind::Page, &inputs, args.force)?;
    }
    if let Some(tables) = operators::tables(a.iter().chain(b))? {
        return operators::compare(&tables, args.fail_above.is_some(), args.html.as_deref(), ui);
    }
    let mut one = |paths: &[PathBuf]| findings::analyze(paths, &rules, &args.damage, &mut rescued, ui);
    let mut comparison = TraceComparison::of(&one(a)?, &one(b)?);
    if let [a, b] = args.samples_per_step[..] {
        if comparison.per == TimeUnit::Trace {
            return Err(request_error(
                "--samples-per-step divides the time of a step, and not both traces have steps; call prof.step() while recording, or leave it out",
            ));
        }
        comparison = comparison.per_sample(a, b);
    }
    if let Some(path) = &args.html {
        write_text(path, &knockout_report::compare_html(&comparison), ui)?;
    }
    ui.result(|| knockout_report::compare_text(&comparison), &knockout_report::compare_json(&comparison))?;
    input::partial_verdict(&rescued.files)?;
    args.fail_above.map_or(Ok(()), |ratio| gate(&comparison, ratio))
}

/// The files of either side.
fn sides(args: &TraceCompareArgs) -> Result<(&[PathBuf], &[PathBuf])> {
    match (args.traces.as_slice(), args.against.as_slice()) {
        ([a, b], []) => Ok((std::slice::from_ref(a), std::slice::from_ref(b))),
        ([_], []) => Err(request_error("a comparison needs two traces; name A and B")),
        (all, []) => Err(request_error(format!(
            "{} traces: which belong together? Name the ranks of one run, then --against and those of the other",
            all.len()
        ))),
        (a, b) => Ok((a, b)),
    }
}

/// Whether B may pass.
fn gate(comparison: &TraceComparison, ratio: f64) -> Result<()> {
    if !comparison.comparable {
        let differing: Vec<&str> = comparison.decisive().map(|row| row.what.as_str()).collect();
        let message = format!("not comparable: the traces differ in {}", differing.join(", "));
        return Err(Failure::verdict(INCOMPARABLE, message));
    }
    if let Some(step) = comparison.step().filter(|step| !step.is_interval()) {
        let (a, b) = step.steps;
        let message = format!(
            "not comparable: too few steps to judge ({a} in a, {b} in b); record {FEWEST_FOR_INTERVAL} or more"
        );
        return Err(Failure::verdict(INCOMPARABLE, message));
    }
    let slower: Vec<String> = comparison
        .slower_than(ratio)
        .iter()
        .map(|row| {
            let (middle, low) = (row.ratio.unwrap_or(0.0), row.low.unwrap_or(0.0));
            format!("{} takes {middle:.3} times as long (at least {low:.3}, allowed {ratio})", row.name)
        })
        .collect();
    if slower.is_empty() {
        return Ok(());
    }
    Err(Failure::verdict(REGRESSED, slower.join("; ")))
}
