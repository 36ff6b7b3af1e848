//! A `NumPy` array of features, `[genes, columns]` of `f4` or `f8`, with a list of its genes.
//!
//! ```text
//! "\x93NUMPY"  major u8  minor u8  header length u16 (version 1) or u32  header  values
//! header: {'descr': '<f4', 'fortran_order': False, 'shape': (6607, 320), }
//! ```

use super::FeatureFile;
use crate::import::fault;
use crate::import::genes::list;
use crate::import::names::Names;
use crate::import::read::read_error;
use crate::import::source::Source;
use knockout_base::error::Error;
use std::io::Read;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of a header; `NumPy`'s own are below 200.
const MAX_HEADER: usize = 1 << 16;
/// Columns of an array.
const MAX_COLUMNS: usize = 1 << 16;

/// Shape and type of an array.
#[derive(Debug, PartialEq, Eq)]
struct ArrayLayout {
    rows: usize,
    columns: usize,
    /// Bytes of a value: 4 or 8.
    value_bytes: usize,
    by_column: bool,
}

/// Reads an array whose rows are the genes of a list, in its order; columns are called `prefix0`, `prefix1`, ….
pub fn read(
    source: &Source<'_>,
    gene_list: &Source<'_>,
    names: &Names,
    gene_count: usize,
    prefix: &str,
) -> Result<FeatureFile, Error> {
    let genes = list::read(gene_list)?;
    let (_, mut stream) = source.input()?.expect_text("a NumPy array (.npy)")?;
    let mut take = |count: usize| -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        // As much as there is: a forged length must not reserve memory.
        stream
            .by_ref()
            .take(count as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| source.fail(read_error(error)))?;
        if bytes.len() < count {
            return Err(bad(source, "the end of the file", "a whole NumPy array (.npy): it is cut off"));
        }
        Ok(bytes)
    };
    let start = take(MAGIC.len() + 2)?;
    if !start.starts_with(MAGIC) {
        return Err(bad(
            source,
            &crate::import::read::shown(&start),
            "the beginning of a NumPy array (.npy)",
        ));
    }
    let header = match start[MAGIC.len()] {
        1 => u64::from(u16::from_le_bytes(array(&take(2)?))),
        _ => u64::from(u32::from_le_bytes(array(&take(4)?))),
    };
    let header = usize::try_from(header).ok().filter(|&length| length <= MAX_HEADER);
    let header = header.ok_or_else(|| bad(source, "the header", "one of at most 65,536 bytes"))?;
    let header = take(header)?;
    let text = String::from_utf8_lossy(&header);
    let layout = layout(&text).map_err(|expected| bad(source, text.trim(), expected))?;
    if layout.rows != genes.len() {
        let value = format!("an array of {} rows", layout.rows);
        return Err(bad(
            source,
            &value,
            &format!("one of {} rows, as many as the list has genes", genes.len()),
        ));
    }
    let count = layout.rows * layout.columns;
    let bytes = take(count * layout.value_bytes)?;
    let value = |at: usize| match layout.value_bytes {
        4 => f32::from_le_bytes(array(&bytes[at * 4..])),
        _ => f64::from_le_bytes(array(&bytes[at * 8..])) as f32,
    };
    let columns = (0..layout.columns).map(|column| format!("{prefix}{column}")).collect();
    let mut file = FeatureFile::new(columns, gene_count);
    for (row, listed) in genes.iter().enumerate() {
        file.tally.rows += 1;
        let at = |column: usize| {
            if layout.by_column { column * layout.rows + row } else { row * layout.columns + column }
        };
        let values: Vec<f32> = (0..layout.columns).map(|column| value(at(column))).collect();
        let name = &listed.gene.systematic;
        if values.iter().any(|value| value.is_infinite()) {
            return Err(bad(source, &format!("row {row} ({name})"), "finite (NaN is unknown)"));
        }
        let Some(gene) = file.tally.gene(names, name.as_bytes(), row as u64 + 1) else { continue };
        if !file.put(gene, values) {
            return Err(bad(gene_list, name, "a gene that the list does not have above"));
        }
    }
    if file.genes() == 0 {
        return Err(gene_list.fail(fault::empty("gene of the table")));
    }
    Ok(file)
}

fn bad(source: &Source<'_>, value: &str, expected: &str) -> Error {
    source.fail(fault::bad_value(value, expected))
}

/// The first bytes as an array; 0 where there are too few, which callers rule out.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

/// Reads the fields of a header, or returns what was expected.
fn layout(header: &str) -> Result<ArrayLayout, &'static str> {
    let value = |key: &str| {
        let at = header.find(&format!("'{key}'"))? + key.len() + 2;
        Some(header[at..].trim_start().strip_prefix(':')?.trim_start())
    };
    let value_bytes = match value("descr") {
        Some(text) if text.starts_with("'<f4'") => 4,
        Some(text) if text.starts_with("'<f8'") => 8,
        _ => return Err("an array of little-endian f4 or f8: save it with .astype('<f4')"),
    };
    let by_column = match value("fortran_order") {
        Some(text) if text.starts_with("False") => false,
        Some(text) if text.starts_with("True") => true,
        _ => return Err("a header with fortran_order, True or False"),
    };
    let shape = value("shape").and_then(|text| text.strip_prefix('(')?.split_once(')'));
    let sizes: Option<Vec<usize>> = shape.and_then(|(shape, _)| {
        let parts = shape.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().ok()).collect()
    });
    match sizes.as_deref() {
        Some(&[rows, columns]) if (1..=MAX_COLUMNS).contains(&columns) && u32::try_from(rows).is_ok() => {
            Ok(ArrayLayout { rows, columns, value_bytes, by_column })
        }
        _ => Err("an array of two dimensions, genes by at most 65,536 features"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::GeneTable;

    fn npy(header: &str, values: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(values);
        bytes
    }

    fn read_bytes(array: &[u8], list: &str) -> Result<FeatureFile, Error> {
        let genes = GeneTable::from_systematic(["A", "B", "C"]).unwrap();
        let (array, list) = (Source::bytes("x.npy", array), Source::bytes("genes.txt", list.as_bytes()));
        read(&array, &list, &Names::new(&genes), 3, "x")
    }

    #[test]
    fn an_array_is_read_by_its_list() {
        let wide: Vec<u8> = [1.5, 2.5, f64::NAN, 4.5].into_iter().flat_map(f64::to_le_bytes).collect();
        let narrow: Vec<u8> = [1.5, f32::NAN, 2.5, 4.5].into_iter().flat_map(f32::to_le_bytes).collect();
        for (header, values) in [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", wide),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", narrow),
        ] {
            let file = read_bytes(&npy(header, &values), "C\nA\n").unwrap();
            assert_eq!((file.names.as_slice(), file.genes()), (&["x0".to_owned(), "x1".to_owned()][..], 2));
            assert_eq!(file.rows[2].as_deref(), Some(&[1.5, 2.5][..]));
            assert!(file.rows[0].as_ref().is_some_and(|row| row[0].is_nan() && row[1] == 4.5));
            assert_eq!(file.rows[1], None);
        }
    }

    #[test]
    fn damaged_arrays_are_refused_by_what_is_wrong() {
        let message = |array: &[u8], list: &str| read_bytes(array, list).unwrap_err().message().to_owned();
        let fine = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
        assert!(message(b"gene,x\nA,1\n", "A\nB\n").contains("the beginning of a NumPy array"));
        assert!(message(&npy(fine, &[0; 15]), "A\nB\n").contains("cut off"));
        assert!(message(&npy(fine, &[0; 16]), "A\n").contains("as many as the list has genes"));
        assert!(message(&npy(fine, &[0; 16]), "A\nA\n").contains("does not have above"));
        assert!(message(&npy(fine, &[0; 16]), "X\nY\n").contains("gene of the table"));
        let infinite: Vec<u8> =
            [0.0, f32::INFINITY, 0.0, 0.0].into_iter().flat_map(f32::to_le_bytes).collect();
        assert!(message(&npy(fine, &infinite), "A\nB\n").contains("finite"));
        for (header, what) in [
            ("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", "astype"),
            ("{'descr': '<f4', 'shape': (2, 2), }", "fortran_order"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "two dimensions"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999), }", "two dimensions"),
            ("", "astype"),
        ] {
            assert!(message(&npy(header, &[0; 16]), "A\nB\n").contains(what), "{header}");
        }
    }
}
