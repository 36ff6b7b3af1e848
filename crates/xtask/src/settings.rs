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

const RUN_KEYS: [&str; 34] = [
    "seed",
    "batch",
    "epochs",
    "max_steps",
    "split.val",
    "split.test",
    "split.subset",
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

/// Settings that only make a run long or a dataset large, which is what was asked for.
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
    match random.below(3) {
        0 => ("train --model dango", run(home, random, "dango", &RUN_KEYS)),
        1 => ("train --model hetero", run(home, random, "hetero", &[&RUN_KEYS[..], &HETERO_KEYS].concat())),
        _ => ("data synth", synth(home, random)),
    }
}

fn run(home: &Home, random: &mut Random, model: &str, keys: &[&str]) -> Verdict {
    let scratch = home.scratch()?;
    let (key, value) = (*random.of(keys), *random.of(&VALUES));
    if is_merely_long(key, value) {
        return Ok(());
    }
    let setting = format!("{key}={value}");
    let mut args =
        vec!["train", "tiny", "--model", model, "--out", "run", "-q", "--batch", "200", "--max-steps", "2"];
    args.push("split.subset=400");
    if model == "hetero" {
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
    let (key, value) = (*random.of(&SYNTH_KEYS), *random.of(&VALUES));
    if is_merely_long(key, value) {
        return Ok(());
    }
    let setting = format!("{key}={value}");
    let args = ["data", "synth", "set", "--preset", "tiny", "-q", &setting];
    home.program.expect(scratch.path(), &args, &[0, 2])?;
    if scratch.path().join("set").exists() {
        home.program.expect(scratch.path(), &["data", "verify", "set", "-q"], &[0])?;
    }
    Ok(())
}
