//! `knockout pack`: a model in one file.

use crate::choice;
use crate::failure::{Result, request_error};
use crate::output::{self, ForceArg, OutputKind};
use crate::ui::{Ui, Versioned};
use clap::Args;
use knockout_predict::packed::{Pack, pack};
use knockout_train::checkpoint::Slot;
use serde::Serialize;
use std::path::PathBuf;

/// Pack a run and its dataset into one file, to pass it on
///
/// `predict`, `explain`, `explore` and Python open the file like a run, without the dataset. It has the weights of one
/// state, the genes, networks and scores of the dataset, and a card for people. It is a ZIP archive that is not
/// compressed; a sealed list of checksums is verified when it is opened.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout pack runs/stack-yeast-0 --out yeast.knockout --licence CC-BY-4.0
  knockout predict yeast.knockout --pairs --not-measured --bottom 50 --out hits
  knockout explore yeast.knockout")]
pub(crate) struct PackArgs {
    /// The run's folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// State of the run; by default the best Pearson, or the last where no epoch has ended
    #[arg(long, value_name = "STATE", value_parser = choice::slot())]
    state: Option<Slot>,
    /// The dataset folder, if it is no longer where the run was trained; its contents must be the same
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Licence of the model and its data, for the card
    #[arg(long, value_name = "TEXT")]
    licence: Option<String>,
    #[command(flatten)]
    force: ForceArg,
}

/// Document of `pack`.
#[derive(Serialize)]
struct Packed {
    file: PathBuf,
    bytes: u64,
    #[serde(flatten)]
    pack: Pack,
}

pub(crate) fn run(args: &PackArgs, ui: &Ui) -> Result<()> {
    if args.out.as_os_str() == "-" {
        return Err(request_error("a packed model is a file; name it with --out model.knockout"));
    }
    output::check(&args.out, OutputKind::Model, &[&args.run], args.force)?;
    let pack = pack(&args.run, args.state, args.data.as_deref(), args.licence.as_deref(), &args.out)?;
    let bytes = args.out.metadata().map_or(0, |metadata| metadata.len());
    if pack.licence.is_none() {
        ui.note("no licence is stated; --licence TEXT writes one on the card");
    }
    let packed = Packed { file: args.out.clone(), bytes, pack };
    let text = || {
        let Packed { file, bytes, pack } = &packed;
        format!(
            "{}: {} on {} ({}), {:.1} MB\n",
            file.display(),
            pack.run,
            pack.dataset,
            pack.state,
            *bytes as f64 / 1e6
        )
    };
    ui.result(text, &Versioned::new(&packed))
}
