//! `knockout demo`: the commands of a first hour on a small synthetic yeast, and their answers on one page.

use crate::command::evaluate::{self, EvaluateArgs};
use crate::command::experiment::{self, ExperimentArgs};
use crate::command::explain::{self, ExplainArgs};
use crate::command::predict::{self, PredictArgs};
use crate::command::train::{self, TrainArgs};
use crate::command::{data, overrides::Overrides};
use crate::failure::{Result, Unexpected as _, request_error};
use crate::output;
use crate::ui::Ui;
use clap::{Args, Command};
use knockout_base::files::create_folder;
use knockout_data::screen::{DEFAULT_SPLIT_SEED, DatasetSummary, Part, Samples};
use knockout_predict::baseline::Baseline;
use knockout_predict::predictions::Predictions;
use knockout_report::lab::{DemoDocument, demo_page};
use knockout_sources::synth;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Epochs of DANGO: within a few hundredths of where longer training ends on the small yeast.
const EPOCHS: &str = "30";
/// Predictions to list.
const HITS: &str = "5";

/// See it all on a small synthetic yeast: train models, see how good they are, find hits, see where the time goes
///
/// Runs the commands that it prints and ends with one page.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout demo
  knockout demo --out /tmp/demo")]
pub(crate) struct DemoArgs {
    /// The folder to make; it must not exist
    #[arg(long, value_name = "DIR", default_value = "demo")]
    out: PathBuf,
    /// The synthetic yeast
    #[arg(long, default_value = "small", value_parser = clap::builder::PossibleValuesParser::new(synth::PRESETS))]
    preset: String,
}

pub(crate) fn run(args: &DemoArgs, ui: &Ui) -> Result<()> {
    let overrides = Overrides { keys: Vec::new() };
    let config = overrides.resolve(&args.preset)?.synth;
    create_folder(&args.out)?;
    let folder = |name: &str| {
        let path = args.out.join(name);
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| request_error(format!("{} is not UTF-8; choose another --out", path.display())))
    };
    let (yeast, stack, dango) = (folder("yeast")?, folder("stack-0")?, folder("dango-0")?);
    let (hits, measured, report) = (folder("hits")?, folder("experiment")?, args.out.join("report.html"));
    let mut demo = Demo { commands: Vec::new(), ui };

    demo.announce(&["data", "synth", &yeast, "--preset", &args.preset]);
    data::make_synthetic(Path::new(&yeast), &args.preset, &config, 0, &overrides.keys, &ui.part())?;
    let dataset = data::open(Path::new(&yeast))?;
    train::run(&demo.parse::<TrainArgs>("train", &[&yeast, "--out", &stack])?, &ui.part())?;
    let network = [&yeast[..], "--model", "dango", "--epochs", EPOCHS, "--out", &dango];
    train::run(&demo.parse::<TrainArgs>("train", &network)?, &ui.part())?;
    let evaluated = demo.parse::<EvaluateArgs>("evaluate", &[&stack, &dango])?;
    let mut evaluation = evaluate::evaluation(&evaluated, &ui.part())?;
    // The reference is the same model as the first run.
    evaluation.rows.retain(|row| row.name != Baseline::Stack.name());
    let query = sickest_query(&dataset.samples);
    let names: Vec<&str> =
        query.iter().map(|&gene| &dataset.cell.genes().genes()[gene as usize].systematic[..]).collect();
    let with = names.join(",");
    let candidates = [&stack[..], "--with", &with, "--not-measured", "--bottom", HITS, "--out", &hits];
    let predicted = predict::predictions(&demo.parse::<PredictArgs>("predict", &candidates)?, &ui.part())?;
    let Some(hit) = predicted.bottom.first() else {
        return Err(request_error(format!(
            "every completion of {with} is measured: choose another --preset"
        )));
    };
    let mut explained = vec![&stack[..]];
    explained.extend(hit.genes.iter().map(String::as_str));
    let explanation = explain::explanation(&demo.parse::<ExplainArgs>("explain", &explained)?, &ui.part())?;
    let timed = [&yeast[..], "--modes", "full", "--steps", "2", "--warmup", "1", "--out", &measured];
    let finished = experiment::measure(&demo.parse::<ExperimentArgs>("experiment", &timed)?, &ui.part())?;

    let detail = |name: &str, path: &str| (name.to_owned(), path.to_owned());
    let document = DemoDocument {
        schema: 1,
        summary: DatasetSummary::of(&dataset, DEFAULT_SPLIT_SEED),
        dataset: yeast.into(),
        evaluation,
        hits: predicted,
        explanation,
        breakdown: knockout_report::own_breakdowns(&finished.experiment),
        report,
        details: vec![
            detail("The stack: settings and validation", "stack-0/report.html"),
            detail("DANGO: curves over epochs", "dango-0/report.html"),
            detail("Parts of a training step, layer by layer", "experiment/report.html"),
        ],
        commands: demo.commands,
    };
    let file = Path::new(&stack).join(Predictions::file_name(Part::Test));
    let page = demo_page(&document, &Predictions::load(&file)?);
    output::write_text(&document.report, &page.to_html(), ui)?;
    let text = || format!("{}\npage: {}\n", page.to_text(), document.report.display());
    ui.result(text, &document)
}

/// The commands of the demonstration.
struct Demo<'a> {
    commands: Vec<String>,
    ui: &'a Ui,
}

impl Demo<'_> {
    /// Prints a command and remembers it.
    fn announce(&mut self, words: &[&str]) {
        let command = format!("knockout {}", words.join(" "));
        self.ui.note(&format!("$ {command}"));
        self.commands.push(command);
    }

    /// Announces a command and returns its arguments, as the command line would parse them.
    fn parse<T: Args>(&mut self, name: &'static str, words: &[&str]) -> Result<T> {
        self.announce(&[&[name], words].concat());
        let command = T::augment_args(Command::new(name).no_binary_name(true));
        let matches =
            command.try_get_matches_from(words).unexpected("could not parse a command of the demo")?;
        T::from_arg_matches(&matches).unexpected("could not read a command of the demo")
    }
}

/// Returns the query whose samples have the lowest mean score; the first of several.
fn sickest_query(samples: &Samples) -> Vec<u32> {
    let mut sums = BTreeMap::<&[u32], (f64, f64)>::new();
    for (row, score) in samples.scores().iter().enumerate() {
        let (sum, count) = sums.entry(samples.query(row)).or_default();
        *sum += score;
        *count += 1.0;
    }
    let means = sums.iter().map(|(query, (sum, count))| (query, sum / count));
    let sickest = means.min_by(|a, b| a.1.total_cmp(&b.1));
    sickest.map(|(query, _)| query.to_vec()).unwrap_or_default()
}
