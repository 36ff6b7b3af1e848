//! Packed files made by hand, so that headers and contents can disagree: gzip, and the zip of a workbook.

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use std::io::{self, Write};

/// Packs text.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).and_then(|()| packer.finish()).map_err(|error| error.to_string())
}

/// Packs a head and then a unit repeated to about a size, without ever holding it.
pub(super) fn gzip_repeated(head: &str, unit: &str, bytes: usize) -> Result<Vec<u8>, String> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    let written = packer.write_all(head.as_bytes()).and_then(|()| repeat(&mut packer, unit, bytes).map(drop));
    written.and_then(|()| packer.finish()).map_err(|error| error.to_string())
}

/// Writes a unit again and again; gives how many bytes it wrote.
fn repeat(out: &mut impl Write, unit: &str, bytes: usize) -> io::Result<usize> {
    let block = unit.repeat((1 << 16) / unit.len().max(1));
    let mut written = 0;
    while !block.is_empty() && written < bytes {
        out.write_all(block.as_bytes())?;
        written += block.len();
    }
    Ok(written)
}

/// Counts and sums what goes through it.
struct Summed<W> {
    inner: W,
    crc: Crc,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.crc.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

struct ArchiveEntry {
    name: &'static str,
    crc: u32,
    packed: Vec<u8>,
    size: usize,
}

/// Packs an entry made of texts, each followed by a unit repeated to about `bytes`.
fn entry(name: &'static str, parts: &[(&str, &str)], bytes: usize) -> Result<ArchiveEntry, String> {
    let mut out = Summed { inner: DeflateEncoder::new(Vec::new(), Compression::fast()), crc: Crc::new() };
    let mut size = 0;
    for (text, unit) in parts {
        let written = out.write_all(text.as_bytes()).and_then(|()| repeat(&mut out, unit, bytes));
        size += text.len() + written.map_err(|error| error.to_string())?;
    }
    let packed = out.inner.finish().map_err(|error| error.to_string())?;
    Ok(ArchiveEntry { name, crc: out.crc.sum(), packed, size })
}

const XML: &str = "<?xml version=\"1.0\"?>";
const SHEET: &str =
    "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>";
const TYPES: &str = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";
const BOOK: &str = "<workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\">\
    <sheets><sheet name=\"S1\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";

fn relation(kind: &str, target: &str) -> String {
    format!(
        "{XML}<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
         Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}\" Target=\"{target}\"/></Relationships>"
    )
}

/// A workbook whose only sheet holds these parts.
pub(super) fn workbook(parts: &[(&str, &str)], bytes: usize) -> Result<Vec<u8>, String> {
    let (root, book) =
        (relation("officeDocument", "xl/workbook.xml"), relation("worksheet", "worksheets/sheet1.xml"));
    let sheet = [&[(XML, ""), (SHEET, "")], parts, &[("</sheetData></worksheet>", "")]].concat();
    let entries = [
        entry("_rels/.rels", &[(&root, "")], 0)?,
        entry("[Content_Types].xml", &[(XML, ""), (TYPES, "")], 0)?,
        entry("xl/workbook.xml", &[(XML, ""), (BOOK, "")], 0)?,
        entry("xl/_rels/workbook.xml.rels", &[(&book, "")], 0)?,
        entry("xl/worksheets/sheet1.xml", &sheet, bytes)?,
    ];
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for entry in &entries {
        // Version, flags, deflated, a date; then what the local and the central header share.
        let mut head = vec![20, 0, 0, 0, 8, 0, 0, 0, 33, 0];
        head.extend(entry.crc.to_le_bytes());
        head.extend((entry.packed.len() as u32).to_le_bytes());
        head.extend((entry.size as u32).to_le_bytes());
        head.extend((entry.name.len() as u16).to_le_bytes());
        head.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&head);
        directory.extend([0; 10]);
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(entry.name.as_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&head);
        out.extend(entry.name.as_bytes());
        out.extend(&entry.packed);
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\x00\x00\x00\x00\x05\x00\x05\x00");
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    Ok(out)
}
