//! More names for the genes of a table: from SGD, from STRING, from any table of two columns.

use super::sgd;
use crate::import::names::{NamePriority, Names};
use crate::import::read::{ColumnNames, Quotes, Separator, Style};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::GeneId;

/// Names that an alias file added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added {
    /// Rows read.
    pub rows: u64,
    /// Rows whose gene is not in the table.
    pub unknown: u64,
    /// Names that now lead to a gene.
    pub names: u64,
}

impl Added {
    fn claim(&mut self, names: &mut Names, gene: u32, alias: &str, rank: NamePriority) {
        self.names += u64::from(names.claim(alias, GeneId(gene), rank));
    }
}

/// Standard names and aliases of SGD's `SGD_features.tab`.
pub fn read_sgd(source: &Source<'_>, names: &mut Names) -> Result<Added, Error> {
    let (genes, rows) = sgd::read(source, &["ORF".to_owned()], &[])?;
    let mut added = Added { rows, ..Added::default() };
    for listed in genes {
        let Some(gene) = names.gene(listed.gene.systematic.as_bytes()) else {
            added.unknown += 1;
            continue;
        };
        if let Some(standard) = &listed.gene.standard {
            added.claim(names, gene, standard, NamePriority::Standard);
        }
        for alias in &listed.aliases {
            added.claim(names, gene, alias, NamePriority::Alias);
        }
    }
    Ok(added)
}

/// STRING's `protein.aliases`: TAB, `#string_protein_id alias source`, all sources.
pub fn read_string(source: &Source<'_>, names: &mut Names) -> Result<Added, Error> {
    let style =
        Style { format: "STRING protein.aliases", separator: Some(Separator::Tab), quotes: Quotes::Plain };
    let columns =
        [ColumnNames::required(["string_protein_id", "protein_id"]), ColumnNames::required(["alias"])];
    read_pairs(source, names, style, &columns, &["alias"])
}

/// Any table with a column of gene names and columns of other names.
pub fn read_table(
    source: &Source<'_>,
    names: &mut Names,
    gene: &str,
    aliases: &[String],
) -> Result<Added, Error> {
    let style = Style { format: "a table of names", separator: None, quotes: Quotes::Double };
    let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
    let mut columns = vec![ColumnNames::required([gene])];
    columns.extend(aliases.iter().map(|&alias| ColumnNames::required([alias])));
    read_pairs(source, names, style, &columns, &aliases)
}

fn read_pairs(
    source: &Source<'_>,
    names: &mut Names,
    style: Style,
    columns: &[ColumnNames<'_>],
    aliases: &[&str],
) -> Result<Added, Error> {
    let (mut table, found) = source.table(style, columns)?;
    let found: Vec<usize> = found.into_iter().flatten().collect();
    let mut added = Added::default();
    while let Some(row) = table.next_row()? {
        added.rows += 1;
        let Some(gene) = names.gene(without_taxon(row.bytes(found[0]))) else {
            added.unknown += 1;
            continue;
        };
        for (_, &column) in aliases.iter().zip(&found[1..]) {
            // Some sources list several accessions in one cell.
            for alias in row.text(column)?.split([';', '|']) {
                added.claim(names, gene, alias.trim(), NamePriority::Foreign);
            }
        }
    }
    Ok(added)
}

/// `4932.YAL001C` without its taxon.
fn without_taxon(id: &[u8]) -> &[u8] {
    let digits = id.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && id.get(digits) == Some(&b'.') { &id[digits + 1..] } else { id }
}
