//! Bytes in, text out: unpacks gzip, recognised by its first bytes, and reports how the stream ended.

use crate::format::damage::DamageKind;
use crate::read::feed::SourceEnd;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Chain, Cursor, Read};

/// The first bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Packed bytes read at a time.
const PACKED_BUFFER_BYTES: usize = 128 << 10;

/// The first bytes, which were inspected, then the remainder.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// A plain or packed source.
pub(crate) struct Source<R: Read> {
    kind: Kind<R>,
    end: SourceEnd,
}

enum Kind<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<BufReader<FailureTrackingReader<Whole<R>>>>>),
}

impl<R: Read> Source<R> {
    pub(crate) fn open(mut source: R) -> io::Result<Self> {
        let mut head = Vec::new();
        source.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
        let gzip = head == GZIP_MAGIC;
        let whole = Cursor::new(head).chain(source);
        let kind = if gzip {
            let packed = BufReader::with_capacity(
                PACKED_BUFFER_BYTES,
                FailureTrackingReader { source: whole, failed: false },
            );
            Kind::Gzip(Box::new(MultiGzDecoder::new(packed)))
        } else {
            Kind::Plain(whole)
        };
        Ok(Self { kind, end: SourceEnd::Whole })
    }

    pub(crate) fn is_gzip(&self) -> bool {
        matches!(self.kind, Kind::Gzip(_))
    }

    /// Returns how the source ended, once [`Source::fill`] returned less than requested.
    pub(crate) fn end(&self) -> SourceEnd {
        self.end
    }

    /// Fills the block; less only at the end, where [`Source::end`] says whether it is the right one.
    pub(crate) fn fill(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < block.len() && self.end == SourceEnd::Whole {
            let got = match &mut self.kind {
                Kind::Plain(plain) => plain.read(&mut block[len..]),
                Kind::Gzip(decoder) => decoder.read(&mut block[len..]),
            };
            match got {
                Ok(0) => break,
                Ok(got) => len += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.end = SourceEnd::Damaged(self.damage_of(error)?),
            }
        }
        Ok(len)
    }

    /// Distinguishes a damaged stream from a failing disk.
    fn damage_of(&self, error: io::Error) -> io::Result<DamageKind> {
        match &self.kind {
            Kind::Gzip(decoder) if !decoder.get_ref().get_ref().failed => {
                Ok(if error.kind() == io::ErrorKind::UnexpectedEof {
                    DamageKind::GzipTruncated
                } else {
                    DamageKind::GzipCorrupt
                })
            }
            _ => Err(error),
        }
    }
}

/// Records whether reading itself failed.
struct FailureTrackingReader<R> {
    source: R,
    failed: bool,
}

impl<R: Read> Read for FailureTrackingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buffer);
        self.failed |= got.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        got
    }
}
