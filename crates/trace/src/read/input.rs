//! The bytes of a file before they are unpacked: how many were read, and whether reading failed.

use crate::format::damage::{DamageKind, Packing};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Texts longer than this must not be longer than the packed bytes times [`MAX_RATIO`].
const UNCHECKED_TEXT_BYTES: u64 = 64 << 20;
/// Traces pack by factors up to about a hundred.
const MAX_RATIO: u64 = 1000;

/// State of the source that its decoders do not pass on.
#[derive(Debug, Default)]
pub(crate) struct SourceState {
    /// Whether reading itself failed.
    failed: AtomicBool,
    /// Packed bytes read.
    bytes: AtomicU64,
    /// Further traces in an archive.
    pub(crate) other_members: AtomicU64,
}

impl SourceState {
    /// Rejects a text that is too large for its packed bytes.
    pub(crate) fn check_ratio(&self, text_bytes: u64) -> io::Result<()> {
        let packed = self.bytes.load(Ordering::Relaxed);
        if text_bytes > UNCHECKED_TEXT_BYTES && text_bytes / MAX_RATIO > packed {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    }

    /// Distinguishes a damaged stream from a failing disk.
    pub(crate) fn damage_of(&self, error: io::Error, packing: Option<Packing>) -> io::Result<DamageKind> {
        let Some(packing) = packing.filter(|_| !self.failed.load(Ordering::Relaxed)) else {
            return Err(error);
        };
        Ok(match error.kind() {
            io::ErrorKind::UnexpectedEof => DamageKind::PackedTruncated(packing),
            io::ErrorKind::OutOfMemory => DamageKind::UnpackLimit(packing),
            // The library has no error kind for it.
            _ if error.to_string().contains("requires too much memory") => DamageKind::UnpackLimit(packing),
            _ => DamageKind::PackedCorrupt(packing),
        })
    }
}

/// Counts the bytes read and records whether reading failed.
pub(crate) struct InputReader<R> {
    pub(crate) source: R,
    pub(crate) input: Arc<SourceState>,
}

impl<R: Read> Read for InputReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buffer);
        match &got {
            Ok(got) => {
                self.input.bytes.fetch_add(*got as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.input.failed.store(true, Ordering::Relaxed),
        }
        got
    }
}
