//! Gene sets and gene lists out of files: TSV, CSV, Excel or Parquet, with systematic or standard names.
//!
//! A name that matches no gene, or several, is never dropped: the error lists all of them.

use crate::import::names::Names;
use crate::import::read::{ColumnNames, InputBytes, Quotes, Row, Style, TextTable};
use knockout_base::error::{Error, Result};
use knockout_data::cell::{GeneSets, GeneTable};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Unknown names in a message.
const SHOWN: usize = 50;
/// Unknown names that come with names like them.
const EXPLAINED: usize = 5;

/// Headers of gene columns begin with it.
const GENE: &str = "gene";

const STYLE: Style = Style { format: "a list of gene names", separator: None, quotes: Quotes::Double };

/// Reads sets: in a table with a header, the columns whose names begin with `gene`; without one, every cell of a line.
///
/// Sets come sorted, in the order of the file.
pub fn read_sets(path: &Path, genes: &GeneTable) -> Result<GeneSets> {
    let (names, mut unknown, mut sets) = (Names::new(genes), BTreeSet::new(), GeneSets::default());
    each_row(path, &names, |row, columns| {
        let (mut set, mut is_whole) = (Vec::with_capacity(4), true);
        for &column in columns {
            let cell = row.bytes(column);
            if cell.is_empty() {
                continue;
            }
            if let Some(gene) = names.gene(cell) {
                set.push(gene);
            } else {
                unknown.insert(String::from_utf8_lossy(cell).into_owned());
                is_whole = false;
            }
        }
        set.sort_unstable();
        if let Some(pair) = set.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = genes.genes()[pair[0] as usize].systematic.clone();
            let (path, line) = (path.display(), row.line());
            return Err(Error::request(format!(
                "{path}, line {line}, names {name} twice; a set has every gene once"
            )));
        }
        if is_whole && !set.is_empty() {
            sets.push(&set);
        }
        Ok(())
    })?;
    refuse_unknown(&path.display().to_string(), unknown, genes)?;
    if sets.is_empty() { Err(empty_list(path)) } else { Ok(sets) }
}

/// Reads genes: the first gene column or the first cell of every line; a name may stand there twice.
pub fn read_genes(path: &Path, genes: &GeneTable) -> Result<Vec<u32>> {
    let (names, mut unknown, mut found) = (Names::new(genes), BTreeSet::new(), Vec::new());
    each_row(path, &names, |row, columns| {
        let cell = columns.first().map_or(&[][..], |&column| row.bytes(column));
        match names.gene(cell) {
            Some(gene) => found.push(gene),
            None if cell.is_empty() => {}
            None => {
                unknown.insert(String::from_utf8_lossy(cell).into_owned());
            }
        }
        Ok(())
    })?;
    refuse_unknown(&path.display().to_string(), unknown, genes)?;
    if found.is_empty() { Err(empty_list(path)) } else { Ok(found) }
}

/// Finds genes by name, in the order given; `origin` names their source in errors.
pub fn find_genes<S: AsRef<str>>(
    names: impl IntoIterator<Item = S>,
    genes: &GeneTable,
    origin: &str,
) -> Result<Vec<u32>> {
    let (known, mut unknown, mut found) = (Names::new(genes), BTreeSet::new(), Vec::new());
    for name in names {
        match known.gene(name.as_ref().trim().as_bytes()) {
            Some(gene) => found.push(gene),
            None => {
                unknown.insert(name.as_ref().to_owned());
            }
        }
    }
    refuse_unknown(origin, unknown, genes)?;
    Ok(found)
}

fn refuse_unknown(origin: &str, unknown: BTreeSet<String>, genes: &GeneTable) -> Result<()> {
    let count = unknown.len();
    if count == 0 {
        return Ok(());
    }
    let shown = unknown.into_iter().take(SHOWN).enumerate();
    let mut names: Vec<String> = shown
        .map(|(index, name)| match genes.similar(&name) {
            similar if index < EXPLAINED && !similar.is_empty() => {
                format!("{name} (did you mean {}?)", similar.join(", "))
            }
            _ => name,
        })
        .collect();
    if count > SHOWN {
        names.push(format!("… and {} more", count - SHOWN));
    }
    let (are, names) =
        (if count == 1 { "one name is" } else { &format!("{count} names are") }, names.join(", "));
    Err(Error::request(format!("{origin}: {are} not a gene of the dataset: {names}")))
}

fn empty_list(path: &Path) -> Error {
    let expected = "expected gene names, a set or a gene on each line";
    Error::request(format!("{} lists nothing; {expected}", path.display()))
}

/// Visits the rows of a table with the columns that hold genes.
fn each_row(
    path: &Path,
    names: &Names,
    mut visit: impl FnMut(&Row<'_>, &[usize]) -> Result<()>,
) -> Result<()> {
    let mut magic = [0; 4];
    // A pipe gives its bytes once, so nothing looks into it ahead of the reader.
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let is_read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    if is_read && (&magic == b"PAR1" || &magic == b"PK\x03\x04") {
        let first = ["gene_1", "gene_a", "gene1", "gene", "systematic"];
        let others = [
            ["gene_2", "gene_b", "gene2"],
            ["gene_3", "gene_c", "gene3"],
            ["gene_4", "gene_d", "gene4"],
            ["gene_5", "gene_e", "gene5"],
        ];
        let mut columns = vec![ColumnNames::required(first)];
        columns.extend(others.map(ColumnNames::optional));
        let (mut table, found, _) = TextTable::open(path, STYLE, None, &columns, &|_| {})?;
        let columns: Vec<usize> = found.into_iter().flatten().collect();
        while let Some(row) = table.next_row()? {
            visit(&row, &columns)?;
        }
        return Ok(());
    }
    let mut table = TextTable::unchecked(InputBytes::open(path, &|_| {})?, STYLE)?;
    let mut columns: Option<Vec<usize>> = None;
    while let Some(row) = table.next_row()? {
        let Some(columns) = &columns else {
            let headed = header(&row, names);
            let is_header = headed.is_some();
            let all = headed.unwrap_or_else(|| (0..row.width()).collect());
            if !is_header {
                visit(&row, &all)?;
            }
            // Lines without a header may have any number of cells.
            columns = Some(if is_header { all } else { (0..64).collect() });
            continue;
        };
        visit(&row, columns)?;
    }
    Ok(())
}

/// Returns the gene columns of a header; `None` if the line is not a header.
fn header(row: &Row<'_>, names: &Names) -> Option<Vec<usize>> {
    if (0..row.width()).any(|cell| names.gene(row.bytes(cell)).is_some()) {
        return None;
    }
    let is_gene = |&cell: &usize| {
        let name = String::from_utf8_lossy(row.bytes(cell)).trim_start_matches('#').trim().to_lowercase();
        name.starts_with(GENE) || name.starts_with("systematic")
    };
    let columns: Vec<usize> = (0..row.width()).filter(is_gene).collect();
    (!columns.is_empty()).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::Gene;

    fn table() -> GeneTable {
        let gene = |systematic: &str, standard: &str| Gene {
            systematic: systematic.into(),
            standard: Some(standard.into()),
        };
        GeneTable::new(vec![gene("YA", "AAA1"), gene("YB", "BBB1"), gene("YC", "CCC1")]).unwrap()
    }

    fn sets(text: &str) -> Result<Vec<Vec<u32>>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read_sets(file.path(), &table())
            .map(|sets| sets.view().iter().map(<[u32]>::to_vec).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn with_a_header_or_without() {
        let expected = Ok(vec![vec![0, 1], vec![0, 1, 2]]);
        assert_eq!(sets("YA\tYB\nccc1\tYB\tAAA1\n"), expected);
        assert_eq!(sets("score,gene_a,gene_b,gene_c\n1,YB,YA,\n2,YC,YB,YA\n"), expected);
    }

    #[test]
    fn wrong_lines_are_named() {
        assert!(
            sets("YA\tYX\nYQ\tYB\n")
                .unwrap_err()
                .contains("2 names are not a gene of the dataset: YQ (did you mean YA, ")
        );
        assert!(
            sets("YA\tYB\nYA\tAAA1\n")
                .unwrap_err()
                .ends_with("line 2, names YA twice; a set has every gene once")
        );
        assert!(sets("\n\n").unwrap_err().contains("lists nothing"));
    }
}
