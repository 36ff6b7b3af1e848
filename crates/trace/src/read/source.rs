//! Unpacks a source, recognised by its first bytes, and reports how the stream ended.

use crate::format::damage::{Damage, Packing, ReadError};
use crate::read::feed::SourceEnd;
use crate::read::input::{InputReader, SourceState};
use crate::read::zip::{Found, ZipReader};
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes at the beginning of a file that are enough to recognise its packing.
const MAGIC_BYTES: u64 = 6;
/// Packed bytes read at a time.
const PACKED_BUFFER_BYTES: usize = 128 << 10;
/// Memory that a decoder may take: more than the strongest usual settings need (`xz -9`, `zstd --ultra -22`).
const DECODER_BYTES_LOG: u32 = 27;

type ByteStream<'a> = Box<dyn Read + Send + 'a>;

/// A plain or packed source.
pub(crate) struct TraceSource<'a> {
    text: ByteStream<'a>,
    packing: Option<Packing>,
    input: Arc<SourceState>,
    text_bytes: u64,
    end: SourceEnd,
}

impl<'a> TraceSource<'a> {
    pub(crate) fn open(source: impl Read + Send + 'a) -> Result<Self, ReadError> {
        let input = Arc::new(SourceState::default());
        let (text, packing) = unpack(Box::new(InputReader { source, input: input.clone() }), &input)?;
        Ok(Self { text, packing, input, text_bytes: 0, end: SourceEnd::Whole })
    }

    /// Returns the packing of the source; `None` for plain text.
    pub(crate) fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// Returns how the source ended, once [`TraceSource::fill`] returned less than requested.
    pub(crate) fn end(&self) -> SourceEnd {
        self.end
    }

    /// Returns the number of further traces in an archive, once the source has ended.
    pub(crate) fn other_members(&self) -> u64 {
        self.input.other_members.load(Ordering::Relaxed)
    }

    /// Fills the block; less only at the end, where [`TraceSource::end`] returns whether the source is complete.
    pub(crate) fn fill(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < block.len() && self.end == SourceEnd::Whole {
            let got = self.text.read(&mut block[len..]).and_then(|got| {
                if self.packing.is_some() {
                    self.text_bytes += got as u64;
                    self.input.check_ratio(self.text_bytes)?;
                }
                Ok(got)
            });
            match got {
                Ok(0) => break,
                Ok(got) => len += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.end = SourceEnd::Damaged(self.input.damage_of(error, self.packing)?),
            }
        }
        Ok(len)
    }
}

/// Returns the text of a source and its packing. A packed member of a zip archive is unpacked too.
fn unpack<'a>(
    mut source: ByteStream<'a>,
    input: &Arc<SourceState>,
) -> Result<(ByteStream<'a>, Option<Packing>), ReadError> {
    let mut head = Vec::new();
    source.by_ref().take(MAGIC_BYTES).read_to_end(&mut head)?;
    let packing = Packing::of(&head);
    let whole = Cursor::new(head).chain(source);
    let Some(packing) = packing else { return Ok((Box::new(whole), None)) };
    let packed = BufReader::with_capacity(PACKED_BUFFER_BYTES, whole);
    let text: ByteStream<'a> = match packing {
        Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Packing::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(packed)?;
            decoder.window_log_max(DECODER_BYTES_LOG)?;
            Box::new(decoder)
        }
        Packing::Xz => Box::new(XzReader::new_mem_limit(packed, true, 1 << (DECODER_BYTES_LOG - 10))),
        Packing::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
        Packing::Zip => match ZipReader::find(packed, input) {
            // Packed members are few, and an archive inside of an archive is not looked for.
            Ok(Found::Trace(member)) => unpack(member, input)?.0,
            Ok(Found::None { members }) => {
                return Err(ReadError::NotATrace {
                    found: format!(
                        "a zip archive with {members} members, none of them a trace that is stored or deflated"
                    ),
                });
            }
            Err(error) => {
                let kind = input.damage_of(error, Some(packing))?;
                return Err(ReadError::DamagedBeforeEvents {
                    damage: Damage { kind, offset: 0, events_before: 0 },
                });
            }
        },
    };
    Ok((text, Some(packing)))
}
