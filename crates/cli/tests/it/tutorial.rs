//! The tutorial on screens: its commands, in its order, on small files of the forms it names.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const TUTORIAL: &str = include_str!("../../../../docs/tutorial-screen.md");
pub(crate) const SCREEN: &str = "aao1729_Data_S1.tsv";
const OWN_TABLE: &str = "my-screen.csv";

/// Writes triples of query pairs and array genes whose scores have effects of genes, and noise.
pub(crate) fn write_screen(folder: &Path) {
    let mut text = "Query strain ID\tQuery allele name\tArray strain ID\tArray allele name\tCombined mutant type\t\
                    Raw genetic interaction score (epsilon)\tAdjusted genetic interaction score (epsilon or tau)\t\
                    P-value\tQuery single/double mutant fitness\tArray single mutant fitness\t\
                    Combined mutant fitness\tCombined mutant fitness standard deviation\n"
        .to_owned();
    let chromosomes = ["A", "B", "C", "D", "E", "F"];
    // The genes that the tutorial names, and others.
    let gene = |index: usize| match index {
        0 => "YAR003W".to_owned(),
        1 => "YBR258C".to_owned(),
        63 => "YER083C".to_owned(),
        _ => format!("Y{}L{:03}C", chromosomes[index % 6], 1 + index / 6),
    };
    let mut state = 7_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64 - 0.5
    };
    for query in 0..20 {
        let (first, second) = (gene(2 * query), gene(2 * query + 1));
        for array in 60..130 {
            // Some sets are left out, to be predicted.
            if (array + query) % 7 == 0 {
                continue;
            }
            let effect = 0.05 * ((array % 11) as f64 - 5.0) / 5.0 + 0.04 * ((query % 5) as f64 - 2.0) / 2.0;
            let score = effect + 0.06 * noise();
            let name = gene(array);
            let (a, b) = (first.to_lowercase(), second.to_lowercase());
            writeln!(
                text,
                "{first}+{second}_tm{query}\t{a}\u{394}+{b}\u{394}\t{name}_dma{array}\t{}\u{394}\ttrigenic\t{score:.6}\t{score:.6}\t0.04\t0.9\t0.95\t0.8\t0.02",
                name.to_lowercase()
            )
            .unwrap();
        }
    }
    fs::write(folder.join(SCREEN), text).unwrap();
}

/// Writes half of the pairs of some genes under a laboratory's headings, with cells that have no score.
fn write_own_table(folder: &Path) {
    let gene = |index: usize| match index {
        0 => "SWR1".to_owned(),
        1 => "HTZ1".to_owned(),
        _ => format!("GEN{index}"),
    };
    let mut text = "Query,Array,S-score\n".to_owned();
    for a in 0..40_usize {
        for b in (0..a).filter(|b| (a * 7 + b * 3) % 4 > 1) {
            let score =
                if (a + b) % 19 == 0 { "n.d.".to_owned() } else { format!("{}", (a * b) as f64 % 7.0 - 3.0) };
            writeln!(text, "{},{},{score}", gene(a), gene(b)).unwrap();
        }
    }
    fs::write(folder.join(OWN_TABLE), text).unwrap();
}

#[test]
fn the_tutorial_works_as_it_is_written() {
    let home = tempfile::tempdir().unwrap();
    write_screen(home.path());
    write_own_table(home.path());
    let commands: Vec<&str> =
        TUTORIAL.lines().filter_map(|line| line.strip_prefix("    knockout ")).map(str::trim).collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let words: Vec<String> = shlex::split(command).unwrap();
        let words: Vec<&str> = std::iter::once("-q").chain(words.iter().map(String::as_str)).collect();
        // The explorer runs until Ctrl-C; its own tests click through it.
        if words[1] != "explore" {
            run(home.path(), &words).ok();
        }
    }
    let bottom = fs::read_to_string(home.path().join("hits/bottom.csv")).unwrap();
    assert!(bottom.lines().count() > 5, "{bottom}");
    let hits = fs::read_to_string(home.path().join("hits.html")).unwrap();
    assert!(hits.contains("<svg") && hits.contains("keep the figure as SVG"));
    assert!(home.path().join("why.html").is_file());
    let own = fs::read_to_string(home.path().join("my-hits/bottom.csv")).unwrap();
    assert!(own.lines().count() > 50, "{own}");
    assert!(home.path().join("stack.knockout").is_file() && home.path().join("theirs/bottom.csv").is_file());
}
