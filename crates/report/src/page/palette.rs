//! Colours by name: a category, phase or model has the same colour on every page.

/// Colours of the phases of a step, as the rules of traces colour the category of the same role, and of lines of reference.
const ROLES: [(&str, &str); 20] = [
    ("forward", "#4c8bf5"),
    ("forward and loss", "#4c8bf5"),
    ("backward", "#8e6bd8"),
    ("loss", "#d06bb5"),
    ("optimiser", "#e0883a"),
    ("clip and optimiser", "#e0883a"),
    ("data pipeline", "#d9534f"),
    ("fetch", "#d9534f"),
    ("process", "#c2913a"),
    ("communication", "#e3b505"),
    ("collate", "#e3b505"),
    ("checkpoint", "#7a9e9f"),
    ("validation", "#2a9d6f"),
    ("wait", "#b9c0cb"),
    ("logging", "#5bb5c9"),
    ("untracked", "#a7adb8"),
    ("loop and untracked", "#a7adb8"),
    ("clip", "#f0b7a1"),
    // What figures are compared with.
    ("perfect prediction", "#a7adb8"),
    ("a guess", "#a7adb8"),
];

/// Colours of all other names, readable on a light and on a dark page.
const OTHERS: [&str; 16] = [
    "#3b7dd8", "#d1702c", "#2f9163", "#9a5fc9", "#c8435f", "#7d8797", "#1f9aa8", "#a8862a", "#c2569d",
    "#5f9e3a", "#7269d6", "#a3684f", "#e05a47", "#4aa3ff", "#8c9a2b", "#c77fe0",
];

/// Start of the hash of a name. With this value the names of all models and baselines have different colours, which a test checks.
const HASH_START: u32 = 0x811c_9e49;

/// Returns the colour of a name. Part of a name behind a slash has the colour of the whole: `forward/sage1` that of `forward`.
pub fn colour(name: &str) -> &'static str {
    let role = name.split('/').next().unwrap_or(name);
    ROLES.iter().find(|(known, _)| *known == role).map_or_else(|| OTHERS[slot(name)], |(_, colour)| colour)
}

/// Returns the colours of names that one chart shows; where two would have the same, the later takes the next free one.
pub(crate) fn colours<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<&'static str> {
    let mut taken: Vec<&'static str> = Vec::new();
    for name in names {
        let first = colour(name);
        let others = (0..OTHERS.len()).map(|step| OTHERS[(slot(name) + step) % OTHERS.len()]);
        let free = [first].into_iter().chain(others).find(|colour| !taken.contains(colour));
        taken.push(free.unwrap_or(first));
    }
    taken
}

/// Index among the other colours, by an FNV hash of the name.
fn slot(name: &str) -> usize {
    let hash = name.bytes().fold(HASH_START, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 8) as usize % OTHERS.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_colour_of_its_phase() {
        assert_eq!(colour("forward/sage1"), colour("forward"));
    }

    #[test]
    fn a_name_keeps_its_colour_beside_others() {
        let together = colours(["dango", "hetero"]);
        assert_eq!(together[0], colour("dango"));
    }

    #[test]
    fn names_of_one_chart_differ_while_there_are_colours() {
        let names: Vec<String> = (0..OTHERS.len()).map(|i| format!("run {i}")).collect();
        let mut all = colours(names.iter().map(String::as_str));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), OTHERS.len());
    }
}
