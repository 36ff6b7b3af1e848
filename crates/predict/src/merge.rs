//! Joins parts of predictions into the folder that a single run would have written, to the byte.

use crate::block::ScoredBlock;
use crate::candidates::nothing_to_predict;
use crate::folder::{block_name, missing, unfinished};
use crate::{BlockShare, Plan, PredictionFolder};
use knockout_base::error::{Error, Result};
use knockout_base::files;
use std::path::{Path, PathBuf};

/// Joins parts into a new folder; rejects parts of different predictions, repeated, missing and unfinished parts, and damaged
/// blocks.
pub fn merge(out: &Path, parts: &[PathBuf]) -> Result<PredictionFolder> {
    let mut plans: Vec<(&PathBuf, Plan)> = Vec::new();
    for path in parts {
        let plan = PredictionFolder::read_plan(path)?;
        if let Some((first, other)) = plans.first() {
            let mut keys = other.differences(&plan);
            if other.part.of != plan.part.of {
                keys.push("the number of parts");
            }
            if !keys.is_empty() {
                let (first, other, keys) = (first.display(), path.display(), keys.join(", "));
                return Err(Error::request(format!(
                    "{first} and {other} are parts of different predictions: {keys} differ"
                )));
            }
        }
        if let Some((first, _)) = plans.iter().find(|(_, other)| other.part == plan.part) {
            let (first, other, part) = (first.display(), path.display(), plan.part);
            return Err(Error::request(format!("{first} and {other} are both part {part}")));
        }
        plans.push((path, plan));
    }
    plans.sort_by_key(|(_, plan)| plan.part.index);
    let Some((_, first)) = plans.first() else {
        return Err(nothing_to_predict("no part was named"));
    };
    let of = first.part.of;
    let absent: Vec<String> = (1..=of)
        .filter(|index| plans.iter().all(|(_, plan)| plan.part.index != *index))
        .map(|index| index.to_string())
        .collect();
    if !absent.is_empty() {
        let parts = absent.join(", ");
        return Err(Error::request(format!("part {parts} of {of} missing; predict it, then merge again")));
    }
    for (path, plan) in &plans {
        let (missing, range) =
            (missing(&files::Folder::at(*path), plan).len() as u64, plan.part.of_blocks(plan.blocks()));
        if missing > 0 {
            return Err(unfinished(path, missing, range.end - range.start));
        }
    }
    let (plan, identity) = (Plan { part: BlockShare::default(), ..first.clone() }, first.identity());
    PredictionFolder::create(out, plan, |staged| {
        for (path, plan) in &plans {
            for block in plan.part.of_blocks(plan.blocks()) {
                let (from, name) = (files::Folder::at(*path), block_name(block));
                ScoredBlock::read(&from, plan, &identity, block)?;
                staged.write_new(&name, from.read(&name)?)?;
            }
        }
        Ok(())
    })
}
