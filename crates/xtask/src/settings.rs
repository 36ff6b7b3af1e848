//! Degenerate settings: every key of a run and of the synthetic yeast with values at the ends of its type and beyond. They are carried
//! out, refused or diverge; never a crash, and never more memory than there is.

use crate::Verdict;
use crate::program::Home;
use crate::random::Random;

const VALUES: [&str; 22] = [
    "0",
    "1",
    "2",
    "-1",
    "3",
    "7",
    "0.5",
    "1e18",
    "1e30",
    "1e300",
    "-1e300",
    "1e-300",
    "9223372036854775807",
    "1000000000",
    "1000000",
    "4294967295",
    "nan",
    "inf",
    "\"\"",
    "[]",
    "true",
    "{}",
];

const RUN_KEYS: [&str; 35] = [
    "seed",
    "batch",
    "epochs",
    "max_steps",
    "split.val",
    "split.test",
    "split.subset",
    "split.train_subset",
    "split.seed",
    "loader.threads",
    "loader.depth",
    "loader.processor",
    "optimiser.learning_rate",
    "optimiser.weight_decay",
    "optimiser.clip_norm",
    "optimiser.accumulate",
    "optimiser.schedule",
    "optimiser.plateau.factor",
    "optimiser.plateau.patience",
    "optimiser.plateau.threshold",
    "optimiser.plateau.cooldown",
    "optimiser.cosine.first_cycle",
    "optimiser.cosine.cycle_factor",
    "optimiser.cosine.lowest",
    "optimiser.cosine.warmup",
    "optimiser.cosine.gamma",
    "run.patience",
    "run.checkpoint_every",
    "run.predict_batch",
    "model.width",
    "model.networks",
    "model.heads",
    "model.transition_epoch",
    "model.layers",
    "model.dropout",
];

const HETERO_KEYS: [&str; 10] = [
    "model.gin_linears",
    "model.gin_hidden",
    "model.cross_heads",
    "model.pair_hidden",
    "model.pair_linears",
    "model.local_layers",
    "model.local_heads",
    "model.mle_wass_supcr.buffer.size",
    "model.mle_wass_supcr.buffer.min_samples",
    "model.mle_wass_supcr.lambda_supcr",
];

const TRANSFORMER_KEYS: [&str; 9] = [
    "model.width",
    "model.layers",
    "model.heads",
    "model.dropout",
    "model.penalty_layer",
    "model.networks",
    "model.loss.lambda_graph",
    "model.loss.lambda_dist",
    "optimiser.learning_rate",
];

/// Of models that are solved; the stack has them in sections.
const SOLVED_KEYS: [(&str, &[&str]); 3] = [
    ("low-rank", &["model.tolerance", "model.memory_mib", "split.val", "split.subset", "seed"]),
    (
        "network-kernel",
        &["model.tolerance", "model.memory_mib", "model.rank", "model.networks", "split.test", "split.seed"],
    ),
    (
        "stack",
        &[
            "model.low_rank.tolerance",
            "model.low_rank.memory_mib",
            "model.network_kernel.tolerance",
            "model.network_kernel.memory_mib",
            "model.parts",
            "model.amplitudes",
            "model.profile.rank",
            "model.profile.memory_mib",
            "split.subset",
        ],
    ),
];

const SYNTH_KEYS: [&str; 14] = [
    "synth.genes",
    "synth.communities",
    "synth.networks.physical.nodes",
    "synth.networks.physical.edges",
    "synth.networks.physical.tail",
    "synth.networks.physical.within",
    "synth.metabolism.reactions",
    "synth.metabolism.metabolites",
    "synth.metabolism.genes",
    "synth.screen.samples",
    "synth.screen.query_pairs",
    "synth.screen.query_genes",
    "synth.screen.score_sd",
    "synth.screen.share_genes",
];

/// Settings that only make a run long or a dataset large, as intended.
fn is_merely_long(key: &str, value: &str) -> bool {
    let large =
        ["1e18", "1e30", "9223372036854775807", "1000000000", "1000000", "4294967295"].contains(&value);
    large
        && (key == "max_steps"
            || key == "epochs"
            || key == "synth.screen.samples"
            || key.contains("metabolism"))
}

pub(crate) fn once(home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    match random.below(5) {
        0 => ("train --model dango", run(home, random, "dango", &RUN_KEYS)),
        1 => ("train --model hetero", run(home, random, "hetero", &[&RUN_KEYS[..], &HETERO_KEYS].concat())),
        2 => ("train --model transformer", run(home, random, "transformer", &TRANSFORMER_KEYS)),
        3 => ("train, solved models", solved(home, random)),
        _ => ("data synth", synth(home, random)),
    }
}

/// A key with a value that is worth trying.
fn setting(random: &mut Random, keys: &[&str]) -> String {
    loop {
        let (key, value) = (*random.of(keys), *random.of(&VALUES));
        if !is_merely_long(key, value) {
            return format!("{key}={value}");
        }
    }
}

fn solved(home: &Home, random: &mut Random) -> Verdict {
    let scratch = home.scratch()?;
    let (model, keys) = *random.of(&SOLVED_KEYS);
    let setting = setting(random, keys);
    let args = ["train", "tiny", "--model", model, "--out", "run", "-q", "split.subset=400", &setting];
    home.program.expect(scratch.path(), &args, &[0, 2, 4]).map(drop)
}

fn run(home: &Home, random: &mut Random, model: &str, keys: &[&str]) -> Verdict {
    let scratch = home.scratch()?;
    let setting = setting(random, keys);
    let mut args =
        vec!["train", "tiny", "--model", model, "--out", "run", "-q", "--batch", "200", "--max-steps", "2"];
    args.push("split.subset=400");
    if model == "transformer" {
        args.extend(["model.width=16", "model.layers=2"]);
    } else if model == "hetero" {
        args.extend(["model.width=8", "model.layers=1", "model.gin_hidden=8", "model.pair_hidden=4"]);
        args.extend([
            "model.local_heads=2",
            "model.loss=mle_wass_supcr",
            "model.mle_wass_supcr.buffer.size=100",
        ]);
    } else {
        args.push("model.width=8");
    }
    args.push(&setting);
    home.program.expect(scratch.path(), &args, &[0, 2, 4]).map(drop)
}

fn synth(home: &Home, random: &mut Random) -> Verdict {
    let scratch = home.scratch()?;
    let setting = setting(random, &SYNTH_KEYS);
    let args = ["data", "synth", "set", "--preset", "tiny", "-q", &setting];
    home.program.expect(scratch.path(), &args, &[0, 2])?;
    if scratch.path().join("set").exists() {
        home.program.expect(scratch.path(), &["data", "verify", "set", "-q"], &[0])?;
    }
    Ok(())
}
