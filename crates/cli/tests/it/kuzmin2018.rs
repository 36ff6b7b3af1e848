//! `examples/kuzmin2018`: its commands and its recipe, on small files of the publishers' forms.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use crate::tutorial;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/kuzmin2018");

/// Writes the files that the recipe names.
fn write_files(folder: &Path) {
    tutorial::write_screen(folder);
    // The table also has digenic controls, with the neutral marker as query or array, and alleles other than deletions.
    let mut screen = OpenOptions::new().append(true).open(folder.join(tutorial::SCREEN)).unwrap();
    for (query, array) in [
        ("YAL001C+YDL227C_tm900\tyal001c\u{394}+ho\u{394}", "YAL012C_dma1\tyal012c\u{394}\tdigenic"),
        ("YDL227C+YBL001C_tm901\tho\u{394}+ybl001c\u{394}", "YBL012C_tsa2\tybl012c-ts\tdigenic"),
        ("YAL001C+YBL001C_tm0\tyal001c\u{394}+ybl001c\u{394}", "YCL018C_tsa7\tcdc7-4\ttrigenic"),
    ] {
        writeln!(screen, "{query}\t{array}\t-0.1\t-0.098\t1.20E-08\t0.9\t0.95\t0.7\t0.03").unwrap();
    }
    let genes: Vec<String> = (0..130)
        .map(|index| format!("Y{}L{:03}C", ["A", "B", "C", "D", "E", "F"][index % 6], 1 + index / 6))
        .chain(["YAR003W", "YBR258C", "YER083C"].map(str::to_owned))
        .collect();
    fs::create_dir(folder.join("sgd")).unwrap();
    fs::create_dir(folder.join("dango")).unwrap();
    let feature = |(index, gene): (usize, &String)| {
        format!(
            "S{index:09}\tORF\tVerified\t{gene}\t\t\tchromosome 1\t\t1\t{}\t{}\tW\t\t\t\t\n",
            index + 1,
            index + 2
        )
    };
    let features: String = genes.iter().enumerate().map(feature).collect();
    fs::write(folder.join("sgd/SGD_features.tab"), features).unwrap();
    fs::write(folder.join("dango/yeast_string_genes.txt"), genes.join("\n")).unwrap();
    for (step, channel) in ["neighborhood", "fusion", "cooccurence", "database"].iter().enumerate() {
        let mut edges = String::new();
        for gene in 1..genes.len() - step {
            let other = gene + step + 1;
            writeln!(edges, "{gene}\t{other}\t0.500000\n{other}\t{gene}\t0.500000").unwrap();
        }
        fs::write(folder.join(format!("dango/yeast_string_{channel}_adjacency.txt")), edges).unwrap();
    }
}

#[test]
fn the_example_works_as_it_is_written() {
    let home = tempfile::tempdir().unwrap();
    let files = home.path().join("FOLDER");
    fs::create_dir(&files).unwrap();
    write_files(&files);
    let page = fs::read_to_string(format!("{EXAMPLE}/README.md")).unwrap();
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("    knockout ")).map(str::trim).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        let command = command.replace("examples/kuzmin2018", EXAMPLE);
        let words = shlex::split(&command).unwrap();
        let words: Vec<&str> = std::iter::once("-q").chain(words.iter().map(String::as_str)).collect();
        run(home.path(), &words).ok();
    }
    // 20 query pairs with 60 of 70 arrays each, and the triple with an allele.
    let shown = run(home.path(), &["data", "show", "kuzmin2018", "--json"]).json();
    assert_eq!(shown["samples"]["count"], 1_201, "{shown}");
    assert_eq!(shown["networks"].as_array().unwrap().len(), 4, "{shown}");
}
