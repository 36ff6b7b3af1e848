//! A file as a stream of text bytes: decompressed, in UTF-8, hashed as it passes.

use super::utf16::{self, Order};
use crate::import::fault;
use flate2::read::MultiGzDecoder;
use knockout_base::error::Error;
use knockout_base::unpack;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes read of a file so far, and their hash. Shared by the opener and the reader.
#[derive(Clone, Default)]
pub struct Tally(Rc<RefCell<blake3::Hasher>>);

impl Tally {
    /// Number of bytes read.
    fn bytes(&self) -> u64 {
        self.0.borrow().count()
    }

    /// blake3 of the bytes read, compressed as they are on disk.
    pub fn digest(&self) -> String {
        self.0.borrow().finalize().to_hex().to_string()
    }
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tally({})", self.digest())
    }
}

/// Bytes of a file on their way to a parser.
pub struct InputBytes<'a> {
    path: PathBuf,
    tally: Tally,
    stream: Box<dyn Read + 'a>,
    /// Format recognised from the first bytes, if it is not text.
    looks_like: Option<&'static str>,
}

impl std::fmt::Debug for InputBytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'a> InputBytes<'a> {
    /// Opens a file; `advance` receives the number of bytes read from disk.
    pub fn open(path: &Path, advance: &'a dyn Fn(u64)) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| fault::open(error).in_file(path))?;
        let is_dir = file.metadata().is_ok_and(|metadata| metadata.is_dir());
        if is_dir {
            let error = io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file");
            return Err(fault::open(error).in_file(path));
        }
        Self::new(path, file, advance)
    }

    /// Bytes in memory under a name.
    pub fn from_bytes(name: &str, bytes: &'a [u8]) -> Result<Self, Error> {
        Self::new(Path::new(name), bytes, &|_| {})
    }

    fn new(path: &Path, raw: impl Read + 'a, advance: &'a dyn Fn(u64)) -> Result<Self, Error> {
        let fail = |error| fault::read(error).in_file(path);
        let tally = Tally::default();
        let counted = HashingReader { raw, tally: tally.clone(), advance };
        let (start, stream) = peek(counted).map_err(fail)?;
        let (start, stream): (Vec<u8>, Box<dyn Read + 'a>) = if start.starts_with(&[0x1f, 0x8b]) {
            let packed = io::BufReader::with_capacity(1 << 16, stream);
            let unpacked = Unpacked { decoder: MultiGzDecoder::new(packed), tally: tally.clone(), bytes: 0 };
            let (start, stream) = peek(unpacked).map_err(|error| read_error(error).in_file(path))?;
            (start, Box::new(stream))
        } else {
            (start, Box::new(stream))
        };
        let looks_like = looks_like(&start);
        let stream = match start.as_slice() {
            [0xff, 0xfe, ..] => Box::new(utf16::Decoder::new(stream, Order::Little)),
            [0xfe, 0xff, ..] => Box::new(utf16::Decoder::new(stream, Order::Big)),
            [0xef, 0xbb, 0xbf, ..] => {
                let mut mark = [0; 3];
                let mut stream = stream;
                stream.read_exact(&mut mark).map_err(fail)?;
                stream
            }
            _ => stream,
        };
        Ok(Self { path: path.to_owned(), tally, stream, looks_like })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes read so far, and their hash.
    pub fn tally(&self) -> Tally {
        self.tally.clone()
    }

    /// Refuses what is recognisably no text of this kind.
    pub(crate) fn expect_text(self, expected: &str) -> Result<(PathBuf, Box<dyn Read + 'a>), Error> {
        match self.looks_like {
            Some(found) => {
                Err(fault::something_else(found.to_owned(), expected.to_owned()).in_file(&self.path))
            }
            None => Ok((self.path, self.stream)),
        }
    }
}

/// Hashes a file that is read at random afterwards.
pub(crate) fn hash_whole(path: &Path, advance: &dyn Fn(u64)) -> Result<Tally, Error> {
    let tally = Tally::default();
    let raw = File::open(path).map_err(|error| fault::open(error).in_file(path))?;
    let mut counted = HashingReader { raw, tally: tally.clone(), advance };
    io::copy(&mut counted, &mut io::sink()).map_err(|error| fault::read(error).in_file(path))?;
    Ok(tally)
}

/// The error of a failed read: damage where a decoder complained, the disk otherwise.
pub(crate) fn read_error(error: io::Error) -> Error {
    match error.downcast::<BadPacking>() {
        Ok(BadPacking(error)) => error,
        Err(error) => fault::read(error),
    }
}

/// Reads the first bytes without losing them.
fn peek<'a, R: Read + 'a>(mut stream: R) -> io::Result<(Vec<u8>, impl Read + 'a)> {
    let mut start = Vec::new();
    stream.by_ref().take(64).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(stream)))
}

fn looks_like(start: &[u8]) -> Option<&'static str> {
    let text: Vec<u8> = start.trim_ascii_start().to_ascii_lowercase();
    let tests: [(&[u8], &str); 6] = [
        (b"pk\x03\x04", "a zip archive (perhaps an xlsx workbook)"),
        (b"par1", "a Parquet file"),
        (b"%pdf", "a PDF document"),
        (b"<!doctype html", "a web page, perhaps the error page of a download"),
        (b"<html", "a web page, perhaps the error page of a download"),
        (b"\x1f\x8b", "a gzip file inside a gzip file"),
    ];
    tests.iter().find(|(magic, _)| text.starts_with(magic)).map(|(_, name)| *name)
}

/// Hashes and counts what passes.
struct HashingReader<'a, R> {
    raw: R,
    tally: Tally,
    advance: &'a dyn Fn(u64),
}

impl<R: Read> Read for HashingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.tally.0.borrow_mut().update(&buffer[..count]);
        (self.advance)(count as u64);
        Ok(count)
    }
}

/// Marks a decoder's complaints, so that they are not taken for the disk's, and refuses to unpack without end.
struct Unpacked<R> {
    decoder: MultiGzDecoder<R>,
    /// Of the packed bytes.
    tally: Tally,
    bytes: u64,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct BadPacking(Error);

fn bad_packing(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, BadPacking(error))
}

impl<R: io::BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                bad_packing(fault::compressed(error))
            }
            _ => error,
        })?;
        self.bytes += count as u64;
        unpack::check(self.tally.bytes(), self.bytes, unpack::TEXT_RATIO).map_err(bad_packing)?;
        Ok(count)
    }
}
