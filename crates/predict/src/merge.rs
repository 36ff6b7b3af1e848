//! Parts of predictions joined: what a whole run would have written, to the byte.

use crate::block::Block;
use crate::folder::{block_path, missing};
use crate::{Folder, Plan, PredictError, Share};
use std::fs;
use std::path::{Path, PathBuf};

/// Joins parts into a new folder; refuses parts of different predictions, a part that is there twice or not at all, one that is
/// not finished, and blocks that are damaged.
pub fn merge(out: &Path, parts: &[PathBuf]) -> Result<Folder, PredictError> {
    let mut plans: Vec<(&PathBuf, Plan)> = Vec::new();
    for path in parts {
        let plan = Folder::read_plan(path)?;
        if let Some((first, other)) = plans.first() {
            let mut keys = other.differences(&plan);
            if other.part.of != plan.part.of {
                keys.push("the number of parts");
            }
            if !keys.is_empty() {
                return Err(PredictError::OtherParts { first: (*first).clone(), other: path.clone(), keys });
            }
        }
        if let Some((first, _)) = plans.iter().find(|(_, other)| other.part == plan.part) {
            let (first, other, share) = ((*first).clone(), path.clone(), plan.part.to_string());
            return Err(PredictError::PartTwice { first, other, share });
        }
        plans.push((path, plan));
    }
    plans.sort_by_key(|(_, plan)| plan.part.index);
    let Some((_, first)) = plans.first() else {
        return Err(PredictError::NoCandidates { what: "no part was named".to_owned() });
    };
    let of = first.part.of;
    let absent: Vec<String> = (1..=of)
        .filter(|index| plans.iter().all(|(_, plan)| plan.part.index != *index))
        .map(|index| index.to_string())
        .collect();
    if !absent.is_empty() {
        return Err(PredictError::MissingParts { parts: absent, of });
    }
    for (path, plan) in &plans {
        let (missing, range) = (missing(path, plan).len() as u64, plan.part.of_blocks(plan.blocks()));
        if missing > 0 {
            let (path, blocks) = ((*path).clone(), range.end - range.start);
            return Err(PredictError::Unfinished { path, missing, blocks });
        }
    }
    let (plan, identity) = (Plan { part: Share::default(), ..first.clone() }, first.identity());
    Folder::create(out, plan, |blocks| {
        for (path, plan) in &plans {
            for block in plan.part.of_blocks(plan.blocks()) {
                let from = block_path(path, block);
                Block::read(&from, plan, &identity, block)?;
                let name = from.file_name().unwrap_or_default();
                fs::copy(&from, blocks.join(name))
                    .map_err(|source| PredictError::Read { path: from.clone(), source })?;
            }
        }
        Ok(())
    })
}
