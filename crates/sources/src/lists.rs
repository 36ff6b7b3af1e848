//! Gene sets and gene lists out of files: TSV, CSV, Excel or Parquet, with systematic or standard names.
//!
//! A name that matches no gene, or several, is never dropped: the error lists all of them. The name of an allele, such as `cdc48-3`, stands
//! for its gene.

use crate::import::names::Names;
use crate::import::read::{ColumnNames, InputBytes, Quotes, Row, Style, TextTable};
use crate::import::strain::NamedAllele;
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

const STYLE: Style = Style { format: "a list of gene names", separator: None, quotes: Quotes::Double };

/// The rows of a list of sets as its file has them: all columns, and the genes in their order.
#[derive(Debug, Clone, Default)]
pub struct SetTable {
    columns: Vec<String>,
    text: String,
    /// End of each cell in the text.
    cells: Vec<usize>,
    /// End of each row in the cells.
    rows: Vec<usize>,
}

impl SetTable {
    fn push(&mut self, row: &Row<'_>) {
        for cell in 0..row.width() {
            self.text.push_str(&String::from_utf8_lossy(row.bytes(cell)));
            self.cells.push(self.text.len());
        }
        self.rows.push(self.cells.len());
    }

    /// Names the columns that a header leaves without a name.
    fn finish(&mut self, header: Vec<String>) {
        let starts = std::iter::once(&0).chain(&self.rows);
        let width = starts.zip(&self.rows).map(|(start, end)| end - start).max().unwrap_or(0);
        let is_headed = !header.is_empty();
        self.columns = header;
        for column in self.columns.len() + 1..=width {
            self.columns.push(if is_headed { format!("column_{column}") } else { format!("gene_{column}") });
        }
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the cells of a row; a row may have fewer than there are columns.
    pub fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        let start_of = |ends: &[usize], index: usize| if index == 0 { 0 } else { ends[index - 1] };
        let cells = start_of(&self.rows, row)..self.rows[row];
        cells.map(move |cell| &self.text[start_of(&self.cells, cell)..self.cells[cell]])
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Reads sets: in a table with a header, the columns of genes; without one, every cell of a line. Also gives the rows of the file.
///
/// Sets come sorted, in the order of the file.
pub fn read_sets(path: &Path, genes: &GeneTable) -> Result<(GeneSets, SetTable)> {
    let (names, mut unknown, mut sets) = (Names::new(genes), BTreeSet::new(), GeneSets::default());
    let mut table = SetTable::default();
    let header = each_row(path, &names, |row, columns| {
        let (mut set, mut is_whole) = (Vec::with_capacity(4), true);
        for &column in columns {
            let cell = row.bytes(column);
            if cell.is_empty() {
                continue;
            }
            if let Some(gene) = gene_of(&names, cell) {
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
            table.push(row);
        }
        Ok(())
    })?;
    refuse_unknown(&path.display().to_string(), unknown, genes)?;
    table.finish(header);
    if sets.is_empty() { Err(empty_list(path)) } else { Ok((sets, table)) }
}

/// Reads genes: the first gene column or the first cell of every line; a name may stand there twice.
pub fn read_genes(path: &Path, genes: &GeneTable) -> Result<Vec<u32>> {
    let (names, mut unknown, mut found) = (Names::new(genes), BTreeSet::new(), Vec::new());
    each_row(path, &names, |row, columns| {
        let cell = columns.first().map_or(&[][..], |&column| row.bytes(column));
        match gene_of(&names, cell) {
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

/// Returns the gene of a name, which may be that of an allele.
fn gene_of(names: &Names, name: &[u8]) -> Option<u32> {
    let of_allele = || {
        let found = NamedAllele::split(std::str::from_utf8(name).ok()?)?;
        names.gene(found.gene.as_bytes())
    };
    names.gene(name).or_else(of_allele)
}

/// Finds genes by name, in the order given; `origin` names their source in errors.
pub fn find_genes<S: AsRef<str>>(
    names: impl IntoIterator<Item = S>,
    genes: &GeneTable,
    origin: &str,
) -> Result<Vec<u32>> {
    let (known, mut unknown, mut found) = (Names::new(genes), BTreeSet::new(), Vec::new());
    for name in names {
        match gene_of(&known, name.as_ref().trim().as_bytes()) {
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
    let (are, names) = (
        if count == 1 { "one name is not a gene" } else { &format!("{count} names are not genes") },
        names.join(", "),
    );
    Err(Error::request(format!("{origin}: {are} of the dataset: {names}")))
}

fn empty_list(path: &Path) -> Error {
    let expected = "expected gene names, a set or a gene on each line";
    Error::request(format!("{} lists nothing; {expected}", path.display()))
}

/// Visits the rows of a table with the columns that hold genes; gives the header, empty where there is none.
fn each_row(
    path: &Path,
    names: &Names,
    mut visit: impl FnMut(&Row<'_>, &[usize]) -> Result<()>,
) -> Result<Vec<String>> {
    let mut magic = [0; 4];
    // A pipe gives its bytes once, so nothing looks into it ahead of the reader.
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let is_read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    if is_read && (&magic == b"PAR1" || &magic == b"PK\x03\x04") {
        let first = [
            "gene_1",
            "gene_a",
            "gene1",
            "gene a",
            "query",
            "query gene",
            "query_gene",
            "gene",
            "systematic",
        ];
        let second = ["gene_2", "gene_b", "gene2", "gene b", "array", "array gene", "array_gene"];
        let others =
            [["gene_3", "gene_c", "gene3"], ["gene_4", "gene_d", "gene4"], ["gene_5", "gene_e", "gene5"]];
        let mut columns = vec![ColumnNames::required(first), ColumnNames::optional(second)];
        columns.extend(others.map(ColumnNames::optional));
        let (table, found, _) = TextTable::open(path, STYLE, None, &columns, &|_| {})?;
        let header = table.header().names().to_vec();
        let genes: Vec<usize> = found.into_iter().flatten().collect();
        // Of a Parquet file only the columns that are looked for are read, so all are; a workbook has them anyway.
        let mut all: Vec<ColumnNames<'_>> =
            genes.iter().map(|&gene| ColumnNames::required([&header[gene][..]])).collect();
        let is_once =
            |name: &&String| header.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() == 1;
        all.extend(header.iter().filter(is_once).map(|name| ColumnNames::optional([&name[..]])));
        let (mut table, ..) = TextTable::open(path, STYLE, None, &all, &|_| {})?;
        while let Some(row) = table.next_row()? {
            visit(&row, &genes)?;
        }
        return Ok(header);
    }
    let mut table = TextTable::unchecked(InputBytes::open(path, &|_| {})?, STYLE)?;
    let (mut columns, mut names_of_columns): (Option<Vec<usize>>, _) = (None, Vec::new());
    while let Some(row) = table.next_row()? {
        let Some(columns) = &columns else {
            if let Some(found) = header(&row, names) {
                let name = |cell| String::from_utf8_lossy(row.bytes(cell)).into_owned();
                names_of_columns = (0..row.width()).map(name).collect();
                columns = Some(found);
            } else {
                // Lines without a header may have any number of cells.
                visit(&row, &(0..row.width()).collect::<Vec<_>>())?;
                columns = Some((0..64).collect());
            }
            continue;
        };
        visit(&row, columns)?;
    }
    Ok(names_of_columns)
}

/// Returns the gene columns of a header; `None` if the line is not a header.
fn header(row: &Row<'_>, names: &Names) -> Option<Vec<usize>> {
    if (0..row.width()).any(|cell| gene_of(names, row.bytes(cell)).is_some()) {
        return None;
    }
    let columns: Vec<usize> =
        (0..row.width()).filter(|&cell| is_gene_column(&String::from_utf8_lossy(row.bytes(cell)))).collect();
    (!columns.is_empty()).then_some(columns)
}

/// Whether a column has genes by its name: `gene_a`, `Query`, `array gene`, `systematic name`, not `query allele`.
fn is_gene_column(name: &str) -> bool {
    let name = name.to_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let of_genes = |word: &&str| {
        word.starts_with("gene")
            || word.starts_with("systematic")
            || matches!(*word, "query" | "array" | "orf" | "orfs" | "locus")
    };
    let of_others = |word: &&str| {
        matches!(
            *word,
            "allele" | "alleles" | "strain" | "kind" | "score" | "fitness" | "description" | "count"
        )
    };
    words.iter().any(of_genes) && !words.iter().any(of_others)
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
            .map(|(sets, _)| sets.view().iter().map(<[u32]>::to_vec).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn with_a_header_or_without() {
        let expected = Ok(vec![vec![0, 1], vec![0, 1, 2]]);
        assert_eq!(sets("YA\tYB\nccc1\tYB\tAAA1\n"), expected);
        assert_eq!(sets("score,gene_a,gene_b,gene_c\n1,YB,YA,\n2,YC,YB,YA\n"), expected);
    }

    #[test]
    fn alleles_stand_for_their_genes() {
        assert_eq!(sets("YA-DAmP\tbbb1-3\nccc1\u{394}\tYB\n"), Ok(vec![vec![0, 1], vec![1, 2]]));
        assert_eq!(find_genes(["aaa1-7", "YC-damp"], &table(), "the set").unwrap(), [0, 2]);
        assert!(sets("YA-DAmP\tYA\n").unwrap_err().contains("names YA twice"));
    }

    #[test]
    fn headers_of_screens_are_recognised() {
        let expected = Ok(vec![vec![0, 1]]);
        for header in
            ["Query,Array", "query gene,array gene", "ORF 1,ORF 2", "#Gene A,Gene B", "Systematic name,locus"]
        {
            assert_eq!(sets(&format!("{header}\nYB,YA\n")), expected, "{header}");
        }
        assert_eq!(sets("Query,Query allele,Array,score\nYB,ya-1,YA,-1\n"), expected);
        assert!(sets("Quarry,Aray\nYB,YA\n").unwrap_err().contains("2 names are not genes"), "not a header");
    }

    #[test]
    fn rows_stay_as_they_are() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let gene_table = table();
        let rows = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            let (_, table) = read_sets(file.path(), &gene_table).unwrap();
            let rows: Vec<Vec<String>> =
                (0..table.len()).map(|row| table.row(row).map(str::to_owned).collect()).collect();
            (table.columns().to_vec(), rows)
        };
        let (columns, found) = rows("note,Query,Array\n\"a, b\",YC,bbb1\n,YB,YA\n");
        assert_eq!(columns, ["note", "Query", "Array"]);
        assert_eq!(found, [["a, b", "YC", "bbb1"], ["", "YB", "YA"]]);
        let (columns, found) = rows("YC\tYA\nYC\tYB\tYA\n");
        assert_eq!(columns, ["gene_1", "gene_2", "gene_3"]);
        assert_eq!(found, [vec!["YC", "YA"], vec!["YC", "YB", "YA"]]);
    }

    #[test]
    fn wrong_lines_are_named() {
        assert!(
            sets("YA\tYX\nYQ\tYB\n")
                .unwrap_err()
                .contains("2 names are not genes of the dataset: YQ (did you mean YA, ")
        );
        assert!(
            sets("YA\tYB\nYA\tAAA1\n")
                .unwrap_err()
                .ends_with("line 2, names YA twice; a set has every gene once")
        );
        assert!(sets("\n\n").unwrap_err().contains("lists nothing"));
    }
}
