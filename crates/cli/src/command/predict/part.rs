//! The share of candidates of a job, from the variables of its scheduler or launcher.

use knockout_predict::BlockShare;

/// A part such as 3/7, or `auto`.
pub(super) fn parse(text: &str) -> Result<BlockShare, String> {
    if text == "auto" { automatic(|name| std::env::var(name).ok()) } else { text.parse() }
}

fn automatic(variable: impl Fn(&str) -> Option<String>) -> Result<BlockShare, String> {
    let number = |name: &str| variable(name)?.trim().parse::<u64>().ok();
    // A job array may start anywhere and leave numbers out.
    let of_array = || {
        let [task, first, of] =
            ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"].map(number);
        let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
        Some(((task?.checked_sub(first?)? / step) + 1, of?))
    };
    let of_ranks = |rank: &str, size: &str| Some((number(rank)? + 1, number(size)?));
    let found = of_array()
        .or_else(|| of_ranks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
        .or_else(|| of_ranks("PMI_RANK", "PMI_SIZE"))
        .or_else(|| of_ranks("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"));
    match found {
        Some((index, of)) if index <= of => Ok(BlockShare { index, of }),
        Some((index, of)) => {
            Err(format!("the scheduler reports part {index} of {of}; name the part, such as 3/7"))
        }
        None => {
            Err("this is not a job array, and neither srun nor mpirun started it; name the part, such as 3/7"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_follows_from_the_scheduler() {
        let of = |variables: &'static [(&str, &str)]| {
            let find = move |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            automatic(find).map(|share| share.to_string())
        };
        let array = of(&[
            ("SLURM_ARRAY_TASK_ID", "14"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "7"),
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "1"),
        ]);
        assert_eq!(array.unwrap(), "3/7");
        assert_eq!(of(&[("PMI_RANK", "0"), ("PMI_SIZE", "4")]).unwrap(), "1/4");
        assert_eq!(of(&[("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "4")]).unwrap(), "4/4");
        assert!(of(&[("SLURM_PROCID", "3")]).unwrap_err().contains("3/7"));
        assert!(of(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]).unwrap_err().contains("5 of 4"));
    }
}
