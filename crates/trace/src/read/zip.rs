//! The first trace of a zip archive, read member by member without going back, so that an archive may come from a pipe.
//! Reads members that are stored or deflated, with sizes before or behind them and beyond 4 GiB.

use crate::format::damage::Packing;
use crate::read::input::SourceState;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{self, BufRead, Cursor, Read, Take};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Text at the beginning of a member in which its list of events must begin.
const PEEK_BYTES: u64 = 256 << 10;

/// Result of looking for a trace in an archive.
pub(crate) enum Found<R: BufRead> {
    Trace(Box<ZipReader<R>>),
    /// No trace among so many members.
    None {
        members: u64,
    },
}

/// Reads one member, then passes the others to count the traces among them.
pub(crate) struct ZipReader<R: BufRead> {
    /// The beginning of the member, which was inspected.
    peeked: Cursor<Vec<u8>>,
    /// Absent once the archive has been passed.
    member: Option<OpenMember<R>>,
    input: Arc<SourceState>,
}

impl<R: BufRead> ZipReader<R> {
    /// Finds the first member that is a trace.
    pub(crate) fn find(mut archive: R, input: &Arc<SourceState>) -> io::Result<Found<R>> {
        let mut members = 0;
        while let Some(header) = MemberHeader::read(&mut archive)? {
            members += 1;
            let mut member = OpenMember::new(header, archive, input)?;
            let mut head = Vec::new();
            if member.is_readable() {
                member.by_ref().take(PEEK_BYTES).read_to_end(&mut head)?;
            }
            if is_trace(&head) {
                let peeked = Cursor::new(head);
                let found = Self { peeked, member: Some(member), input: input.clone() };
                return Ok(Found::Trace(Box::new(found)));
            }
            archive = member.close()?;
        }
        Ok(Found::None { members })
    }

    /// Passes the rest of the archive and counts the traces in it by their names.
    fn pass_others(&self, mut archive: R) -> io::Result<()> {
        while let Some(header) = MemberHeader::read(&mut archive)? {
            if crate::is_trace_name(&header.name) {
                self.input.other_members.fetch_add(1, Ordering::Relaxed);
            }
            archive = OpenMember::new(header, archive, &self.input)?.close()?;
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.peeked.read(buffer)?;
        if got > 0 || buffer.is_empty() {
            return Ok(got);
        }
        let Some(member) = &mut self.member else { return Ok(0) };
        let got = member.read(buffer)?;
        if got == 0
            && let Some(member) = self.member.take()
        {
            self.pass_others(member.close()?)?;
        }
        Ok(got)
    }
}

/// Whether a member begins as a trace does, or is packed once more.
fn is_trace(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match text.first() {
        Some(b'[') => true,
        Some(b'{') => memchr::memmem::find(text, b"\"traceEvents\"").is_some(),
        _ => Packing::of(head).is_some_and(|packing| packing != Packing::Zip),
    }
}

/// Header in front of a member.
struct MemberHeader {
    name: String,
    method: u16,
    is_encrypted: bool,
    /// Checksum and sizes follow the member.
    has_descriptor: bool,
    /// Sizes have 64 bits.
    is_wide: bool,
    crc: u32,
    packed_bytes: u64,
}

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

impl MemberHeader {
    /// Reads the next header; `None` at the directory behind the members.
    fn read(archive: &mut impl Read) -> io::Result<Option<Self>> {
        const FIXED: usize = 26;
        let mut signature = [0; 4];
        archive.read_exact(&mut signature)?;
        match &signature {
            b"PK\x03\x04" => {}
            b"PK\x01\x02" | b"PK\x05\x06" | b"PK\x06\x06" | b"PK\x06\x08" => return Ok(None),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        let mut fixed = [0; FIXED];
        archive.read_exact(&mut fixed)?;
        let short = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let mut name = vec![0; usize::from(short(22))];
        archive.read_exact(&mut name)?;
        let mut extra = vec![0; usize::from(short(24))];
        archive.read_exact(&mut extra)?;
        let wide = wide_size(&extra);
        let packed_bytes = match (long(14), wide) {
            (u32::MAX, Some(bytes)) => bytes,
            (bytes, _) => u64::from(bytes),
        };
        let flags = short(2);
        Ok(Some(Self {
            name: String::from_utf8_lossy(&name).into_owned(),
            method: short(4),
            is_encrypted: flags & 1 != 0,
            has_descriptor: flags & 8 != 0,
            is_wide: wide.is_some(),
            crc: long(10),
            packed_bytes,
        }))
    }
}

/// Returns the packed size in the field of 64-bit sizes, the second number there, or 0; `None` without the field.
fn wide_size(mut extra: &[u8]) -> Option<u64> {
    while let Some((&[a, b, c, d], rest)) = extra.split_first_chunk::<4>() {
        let (id, len) = (u16::from_le_bytes([a, b]), usize::from(u16::from_le_bytes([c, d])));
        let (field, rest) = rest.split_at_checked(len)?;
        if id == 1 {
            let packed = field.get(8..16).and_then(|bytes| bytes.try_into().ok());
            return Some(packed.map_or(0, u64::from_le_bytes));
        }
        extra = rest;
    }
    None
}

/// A member being read.
struct OpenMember<R: BufRead> {
    header: MemberHeader,
    body: Body<R>,
    crc: Crc,
    text_bytes: u64,
    input: Arc<SourceState>,
}

enum Body<R: BufRead> {
    /// As it is: stored, or packed or encrypted in a way that is only passed.
    Raw(Take<R>),
    Deflated(DeflateDecoder<R>),
}

impl<R: BufRead> OpenMember<R> {
    fn new(header: MemberHeader, archive: R, input: &Arc<SourceState>) -> io::Result<Self> {
        let body = if header.method == DEFLATED && !header.is_encrypted {
            Body::Deflated(DeflateDecoder::new(archive))
        } else if header.has_descriptor {
            // Its end cannot be found without the directory.
            return Err(io::ErrorKind::Unsupported.into());
        } else {
            Body::Raw(archive.take(header.packed_bytes))
        };
        Ok(Self { header, body, crc: Crc::new(), text_bytes: 0, input: input.clone() })
    }

    fn is_readable(&self) -> bool {
        !self.header.is_encrypted && matches!(self.header.method, STORED | DEFLATED)
    }

    /// Reads to the end of the member, checks it and returns the archive behind it.
    fn close(mut self) -> io::Result<R> {
        io::copy(&mut self, &mut io::sink())?;
        let is_readable = self.is_readable();
        let Self { header, body, crc, .. } = self;
        let mut archive = match body {
            Body::Raw(raw) if raw.limit() > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Body::Raw(raw) => raw.into_inner(),
            Body::Deflated(decoder) => decoder.into_inner(),
        };
        let mut expected = header.crc;
        if header.has_descriptor {
            let mut four = [0; 4];
            archive.read_exact(&mut four)?;
            // The signature may be left out.
            if &four == b"PK\x07\x08" {
                archive.read_exact(&mut four)?;
            }
            expected = u32::from_le_bytes(four);
            let mut sizes = [0; 16];
            archive.read_exact(&mut sizes[..if header.is_wide { 16 } else { 8 }])?;
        }
        if is_readable && crc.sum() != expected {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(archive)
    }
}

impl<R: BufRead> Read for OpenMember<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = match &mut self.body {
            Body::Raw(raw) => raw.read(buffer)?,
            Body::Deflated(decoder) => decoder.read(buffer)?,
        };
        self.crc.update(&buffer[..got]);
        self.text_bytes += got as u64;
        self.input.check_ratio(self.text_bytes)?;
        Ok(got)
    }
}
