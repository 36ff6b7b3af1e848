//! GO's gene association files, GAF 2.1 and 2.2: TAB, no header, 17 columns, comments that start with `!`.
//!
//! Relations between terms (a part of another, a kind of another) are not read: a gene has the terms that the file lists.

use super::AnnotationFile;
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{Quotes, Row, Separator, Style, TextTable};
use crate::import::source::Source;
use knockout_base::error::Error;
use serde::{Deserialize, Serialize};

const STYLE: Style =
    Style { format: "a gene association file (GAF)", separator: Some(Separator::Tab), quotes: Quotes::Plain };
const WIDTH: usize = 17;
const ID: usize = 1;
const SYMBOL: usize = 2;
const QUALIFIER: usize = 3;
const TERM: usize = 4;
const EVIDENCE: usize = 6;
const ASPECT: usize = 8;
const SYNONYMS: usize = 10;

/// The part of GO that a term belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aspect {
    /// Biological process.
    P,
    /// Molecular function.
    F,
    /// Cellular component.
    C,
}

macro_rules! codes {
    ($($code:literal)*) => {
        /// GO's evidence codes, each with the reason that the report gives for leaving it out.
        const CODES: &[(&str, &str)] = &[$(($code, concat!("evidence ", $code))),*];
    };
}
codes!("EXP" "IDA" "IPI" "IMP" "IGI" "IEP" "HTP" "HDA" "HMP" "HGI" "HEP" "ISS" "ISO" "ISA" "ISM" "IGC" "IBA" "IBD" "IKR" "IRD" "RCA"
       "TAS" "NAS" "IC" "ND" "IEA");

/// Codes left out by default: terms inferred from genetic interactions, of single experiments and of whole screens,
/// are made of what a screen is to be predicted from.
const CIRCULAR: [&str; 2] = ["IGI", "HGI"];

/// The choice of rows that become annotations.
#[derive(Debug, Clone, Copy)]
pub struct GafOptions<'o> {
    /// Parts of GO; all if none is named.
    pub aspect: &'o [Aspect],
    /// Evidence codes to keep; all but those left out if none is named.
    pub evidence: &'o [String],
    /// Evidence codes to leave out; those of genetic interactions by default.
    pub without: Option<&'o [String]>,
}

/// Reads the rows of some evidence. A row with the qualifier `NOT` is left out.
pub fn read(source: &Source<'_>, names: &Names, options: &GafOptions<'_>) -> Result<AnnotationFile, Error> {
    check(options).map_err(|kind| source.fail(kind))?;
    let mut file = AnnotationFile::default();
    let mut table = TextTable::unchecked(source.input()?, STYLE)?;
    while let Some(row) = table.next_row()? {
        if row.bytes(0).starts_with(b"!") {
            continue;
        }
        if row.width() != WIDTH {
            let hint = ": the row is shifted or cut off, or the file is not GAF 2.1 or 2.2";
            let kind = fault::cell_count(row.width(), WIDTH, hint);
            return Err(row.fail(None, kind));
        }
        file.tally.rows += 1;
        let (term, aspect, code) = (term(&row)?, aspect(&row)?, evidence(&row)?);
        if row.text(QUALIFIER)?.split('|').any(|qualifier| qualifier.trim().starts_with("NOT")) {
            file.tally.skip("NOT: the gene does not have the term");
        } else if !options.aspect.is_empty() && !options.aspect.contains(&aspect) {
            file.tally.skip("another aspect");
        } else if !options.keeps(code) {
            let known = CODES.iter().find(|(known, _)| *known == code);
            file.tally.skip(known.map_or("evidence of a code that is not known", |(_, reason)| reason));
        } else if let Some(gene) = gene(&row, names)? {
            file.put(gene, term).map_err(|kind| row.fail(Some(TERM), kind))?;
        } else {
            let name = if row.bytes(SYMBOL).is_empty() { row.bytes(ID) } else { row.bytes(SYMBOL) };
            file.tally.unresolved.note(names, name, row.line());
        }
    }
    Ok(file)
}

impl GafOptions<'_> {
    fn keeps(&self, code: &str) -> bool {
        match (self.evidence, self.without) {
            ([], None) => !CIRCULAR.contains(&code),
            ([], Some(without)) => without.iter().all(|left_out| left_out != code),
            (evidence, _) => evidence.iter().any(|kept| kept == code),
        }
    }
}

fn check(options: &GafOptions<'_>) -> Result<(), Error> {
    if !options.evidence.is_empty() && options.without.is_some() {
        let text = "evidence lists codes to keep and without lists codes to leave out; give one of the two";
        return Err(fault::request(text.to_owned()));
    }
    // `without=` leaves nothing out.
    let given = options.evidence.iter().chain(options.without.unwrap_or_default());
    let mut given = given.filter(|given| !given.is_empty());
    match given.find(|given| CODES.iter().all(|(code, _)| code != given)) {
        None => Ok(()),
        Some(given) => {
            let codes: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
            let text = format!("GO has no evidence code {given:?}; it has {}", codes.join(", "));
            Err(fault::request(text))
        }
    }
}

fn term<'r>(row: &Row<'r>) -> Result<&'r str, Error> {
    let term = row.text(TERM)?;
    let is_term = |number: &str| number.len() == 7 && number.bytes().all(|byte| byte.is_ascii_digit());
    match term.strip_prefix("GO:") {
        Some(number) if is_term(number) => Ok(term),
        _ => Err(row.bad(TERM, "a term of GO such as GO:0006281")),
    }
}

fn aspect(row: &Row<'_>) -> Result<Aspect, Error> {
    match row.bytes(ASPECT) {
        b"P" => Ok(Aspect::P),
        b"F" => Ok(Aspect::F),
        b"C" => Ok(Aspect::C),
        _ => Err(row.bad(ASPECT, "an aspect: P, F or C")),
    }
}

/// A code that is not listed may be a newer one.
fn evidence<'r>(row: &Row<'r>) -> Result<&'r str, Error> {
    let code = row.text(EVIDENCE)?;
    let is_code = matches!(code.len(), 2 | 3) && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_code { Ok(code) } else { Err(row.bad(EVIDENCE, "an evidence code such as IDA or IEA")) }
}

/// The gene of a row: by the database's number, which stays when names change; by a synonym that is a systematic name; by the
/// symbol. Other synonyms are not used: they often belonged to another gene.
fn gene(row: &Row<'_>, names: &Names) -> Result<Option<u32>, Error> {
    let systematic =
        |synonyms: &str| synonyms.split('|').find_map(|name| names.systematic(name.trim().as_bytes()));
    let synonyms = row.text(SYNONYMS)?;
    let by_id = names.gene(row.bytes(ID));
    Ok(by_id.or_else(|| systematic(synonyms)).or_else(|| names.gene(row.bytes(SYMBOL))))
}
