//! Hostile imports: public files of every format that are damaged, files that unpack to more than fits, models nested and combined
//! beyond any real one, forged LMDB files. They are refused by exit code or become a dataset that is sound; never a crash, and never
//! more memory than the limit.

mod archive;
mod public;
mod store;

use crate::Verdict;
use crate::mutate::mutation;
use crate::program::Home;
use crate::random::Random;
use archive::{gzip, gzip_repeated, workbook};
use public::{GENES, PUBLIC, Public};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub(crate) fn once(home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    match random.below(16) {
        // These unpack a gigabyte: as seldom as they are slow.
        0 => ("a workbook that unpacks to much", bomb(home, random)),
        1 => ("a gzip file that unpacks to much", packed(home, random)),
        2..5 => ("a model nested or combined", model(home, random)),
        5..9 => ("a forged LMDB file", forged(home, random)),
        _ => ("a damaged public file", damaged(home, random)),
    }
}

/// Imports a network of STRING.
pub(crate) const PUBLIC_IMPORT: [&str; 8] =
    ["data", "import", "set", "-q", "--genes", "list:names.txt", PUBLIC[4].option, PUBLIC[4].source];

/// Writes what [`PUBLIC_IMPORT`] reads.
pub(crate) fn write_public(folder: &Path) -> Verdict {
    write(folder, PUBLIC[4].file, &PUBLIC[4].bytes())?;
    write(folder, "names.txt", GENES.as_bytes())
}

/// Writes the files as they are published and imports each: what is attacked afterwards is sound.
pub(crate) fn check_sound(home: &Home) -> Verdict {
    for public in &PUBLIC {
        let scratch = home.scratch()?;
        write(scratch.path(), public.file, &public.bytes())?;
        imported(home, scratch.path(), public, &[0])?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Verdict {
    let path = folder.join(name);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(&path, bytes).map_err(failed)
}

/// Imports a file together with genes that are sound; what comes of it is a sound dataset or none.
fn imported(home: &Home, folder: &Path, public: &Public, codes: &[i32]) -> Verdict {
    write(folder, "names.txt", GENES.as_bytes())?;
    let mut args = vec!["data", "import", "set", "-q", public.option, public.source];
    if public.option != "--genes" {
        args.extend(["--genes", "list:names.txt"]);
    }
    let ended = home.program.expect(folder, &args, codes)?;
    let exists = folder.join("set").exists();
    if exists != (ended.code == Some(0)) {
        return Err(format!(
            "exit {:?}, and the dataset {}",
            ended.code,
            if exists { "exists" } else { "is missing" }
        ));
    }
    if exists {
        home.program.expect(folder, &["data", "verify", "set", "-q"], &[0])?;
    }
    Ok(())
}

fn damaged(home: &Home, random: &mut Random) -> Verdict {
    let public = random.of(&PUBLIC);
    let scratch = home.scratch()?;
    let mut bytes = public.bytes();
    let mut how = String::new();
    for _ in 0..=random.below(3) {
        let (what, after) = mutation(&bytes, random);
        write!(how, " {what}").ok();
        bytes = after;
    }
    // Any text may be packed: damaged before, after, or both.
    if public.is_text && random.below(3) == 0 {
        bytes = gzip(&bytes)?;
        how.push_str(" packed");
        if random.below(2) == 0 {
            let (what, after) = mutation(&bytes, random);
            write!(how, " {what}").ok();
            bytes = after;
        }
    }
    write(scratch.path(), public.file, &bytes)?;
    imported(home, scratch.path(), public, &[0, 2, 3])
        .map_err(|wrong| format!("{}{how}: {wrong}", public.file))
}

/// A source that is not among the sound ones.
fn hostile(
    home: &Home,
    option: &'static str,
    source: &'static str,
    file: &'static str,
    bytes: &[u8],
) -> Verdict {
    let scratch = home.scratch()?;
    write(scratch.path(), file, bytes)?;
    let public = Public { option, source, file, content: "", is_text: false };
    imported(home, scratch.path(), &public, &[0, 2, 3])
}

/// MiB to unpack to: now and then more than is allowed.
fn size(random: &mut Random, most: usize) -> usize {
    let most = if random.below(4) == 0 { most } else { 50 };
    1 + random.below(most)
}

fn bomb(home: &Home, random: &mut Random) -> Verdict {
    let mebibytes = size(random, 1200);
    let parts: &[(&str, &str)] = match random.below(4) {
        0 => &[("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>", " "), ("</t></is></c></row>", "")],
        1 => &[("", "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row>")],
        2 => &[("<row r=\"1\">", "<c r=\"XFD1\"><v>1e9</v></c>"), ("</row>", "")],
        _ => &[("", "<row r=\"1048576\"><c r=\"ZZZZZZ1048576\" t=\"s\"><v>4294967295</v></c></row>")],
    };
    let bytes = workbook(parts, mebibytes << 20)?;
    hostile(home, "--screen", "kuzmin2020:bomb.xlsx", "bomb.xlsx", &bytes)
        .map_err(|wrong| format!("{mebibytes} MiB of {:?}: {wrong}", parts[0]))
}

fn packed(home: &Home, random: &mut Random) -> Verdict {
    let mebibytes = size(random, 600);
    let head = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n";
    let unit =
        *random.of(&["\0", " ", "\n", "YAL001C\tDELETION\tYAL002W\tDAMP\t0.5\n", "\t", "\"", "# comment\n"]);
    let bytes = gzip_repeated(head, unit, mebibytes << 20)?;
    let (option, source, file) = *random.of(&[
        ("--screen", "emap:bomb.gz", "bomb.gz"),
        ("--network", "edges:bomb.tsv", "bomb.tsv"),
        ("--genes", "list:bomb.txt", "bomb.txt"),
        ("--metabolism", "sbml:bomb.xml", "bomb.xml"),
        ("--metabolism", "yeast-gem:bomb.yml", "bomb.yml"),
    ]);
    hostile(home, option, source, file, &bytes)
        .map_err(|wrong| format!("{mebibytes} MiB of {unit:?} as {source}: {wrong}"))
}

fn model(home: &Home, random: &mut Random) -> Verdict {
    let size = 1 + random.below(200_000);
    let rules = |rule: &str, reactions: usize| {
        let mut text = String::from(
            "<sbml><model><listOfSpecies><species id=\"M_a\"/></listOfSpecies><listOfReactions>",
        );
        for reaction in 0..reactions {
            write!(text, "<reaction id=\"R_{reaction}\"><listOfReactants><speciesReference species=\"M_a\"/></listOfReactants><fbc:geneProductAssociation>{rule}</fbc:geneProductAssociation></reaction>").ok();
        }
        text + "</listOfReactions></model></sbml>"
    };
    let gene = |place: usize| {
        format!("<fbc:geneProductRef fbc:geneProduct=\"G_{}\"/>", ["YAL001C", "YAL002W"][place % 2])
    };
    let deep = |depth: usize| {
        let nested = |word: &str| (format!("<fbc:{word}>{}", gene(0)), format!("{}</fbc:{word}>", gene(1)));
        let ((and, end_and), (or, end_or)) = (nested("and"), nested("or"));
        format!("{}{}{}", (and + &or).repeat(depth), gene(0), (end_or + &end_and).repeat(depth))
    };
    let either = format!("<fbc:or>{}{}</fbc:or>", gene(0), gene(1));
    let text = match random.below(8) {
        0 => rules(&deep(size / 4), 1),
        1 => rules(&deep(1 + size % 30), 1 + size % 100),
        2 => rules(&format!("<fbc:and>{}</fbc:and>", (0..size).map(gene).collect::<String>()), 1),
        3 => rules(&format!("<fbc:and>{}</fbc:and>", either.repeat(1 + size % 14)), 1 + size / 100),
        4 => format!("<sbml>{}{}</sbml>", "<a>".repeat(size), "</a>".repeat(size)),
        5 => format!("<sbml><model {}/></sbml>", repeated(0..size, |at| format!("a{at}=\"1\" "))),
        6 => {
            let references = repeated(0..size, |at| format!("<speciesReference species=\"M_{at}\"/>"));
            let species = repeated(0..size, |at| format!("<species id=\"M_{at}\"/>"));
            format!(
                "<sbml><model><listOfSpecies>{species}</listOfSpecies><listOfReactions><reaction id=\"r\"><listOfReactants>{references}</listOfReactants></reaction></listOfReactions></model></sbml>"
            )
        }
        _ => {
            let entities =
                repeated(1..20, |at| format!("<!ENTITY e{at} \"{}\">", format!("&e{};", at - 1).repeat(10)));
            format!(
                "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e0 \"laugh\">{entities}]><sbml><model><listOfSpecies><species id=\"&e19;\"/></listOfSpecies></model></sbml>"
            )
        }
    };
    hostile(home, "--metabolism", "sbml:hostile.xml", "hostile.xml", text.as_bytes())
        .map_err(|wrong| format!("size {size}: {wrong}"))
}

fn forged(home: &Home, random: &mut Random) -> Verdict {
    let bytes = store::forged(random);
    hostile(home, "--screen", "torchcell:006", store::FILE, &bytes)
}

/// The texts of some numbers, one after the other.
fn repeated(numbers: std::ops::Range<usize>, text: impl Fn(usize) -> String) -> String {
    numbers.map(text).collect()
}
