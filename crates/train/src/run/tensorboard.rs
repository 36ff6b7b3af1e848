//! TensorBoard's event files, for scalars.
//!
//! A record is `u64 length, u32 masked CRC-32C of the length, data, u32 masked CRC-32C of the data`, little-endian; the data
//! is a protocol-buffers message `Event`. Only the few fields that scalars need are written:
//!
//! ```text
//! Event       1 wall_time: double   2 step: int64   3 file_version: string   5 summary: Summary   7 session_log: SessionLog
//! Summary     1 value: repeated Value                Value  1 tag: string    2 simple_value: float
//! SessionLog  1 status: enum (1 = START)
//! ```

use crate::context::at;
use knockout_base::error::Result;
use knockout_base::files::Folder;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// A named number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedScalar<'a> {
    /// Such as `val/pearson`.
    pub tag: &'a str,
    /// Value of the scalar.
    pub value: f64,
}

/// A file of events, to append to.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: File,
}

impl EventWriter {
    /// Starts a new file `events.out.tfevents.SECONDS.HOST.PROCESS.N` in a folder.
    ///
    /// `after_step` is the step that a run was resumed from: `TensorBoard` then drops later steps of earlier files.
    pub fn create(
        folder: impl Into<Folder>,
        host: &str,
        wall_seconds: f64,
        after_step: Option<u64>,
    ) -> Result<Self> {
        let host: String =
            host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let stem = format!("events.out.tfevents.{:010}.{host}.{}", wall_seconds as u64, std::process::id());
        let (path, file) = create_new(&folder.into(), &stem)?;
        let mut writer = Self { path, file };
        let mut event = event(wall_seconds, 0);
        bytes_field(&mut event, 3, b"brain.Event:2");
        writer.record(&event)?;
        if let Some(step) = after_step {
            let mut event = self::event(wall_seconds, step + 1);
            bytes_field(&mut event, 7, &[0x08, 0x01]);
            writer.record(&event)?;
        }
        Ok(writer)
    }

    /// Appends the scalars of a step, in one write.
    pub fn scalars(&mut self, wall_seconds: f64, step: u64, scalars: &[NamedScalar<'_>]) -> Result<()> {
        let mut summary = Vec::new();
        for scalar in scalars {
            let mut value = Vec::new();
            bytes_field(&mut value, 1, scalar.tag.as_bytes());
            value.push(2 << 3 | 5);
            value.extend((scalar.value as f32).to_le_bytes());
            bytes_field(&mut summary, 1, &value);
        }
        let mut event = event(wall_seconds, step);
        bytes_field(&mut event, 5, &summary);
        self.record(&event)
    }

    fn record(&mut self, data: &[u8]) -> Result<()> {
        self.file.write_all(&framed(data)).map_err(at("write", &self.path))
    }
}

fn create_new(folder: &Folder, stem: &str) -> Result<(PathBuf, File)> {
    let mut count = 0_u32;
    loop {
        let name = format!("{stem}.{count}");
        match folder.create_new(&name) {
            Ok(file) => return Ok((folder.path().join(name), file)),
            Err(error) if error.io_kind() == Some(io::ErrorKind::AlreadyExists) => count += 1,
            Err(error) => return Err(error),
        }
    }
}

fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend(length);
    record.extend(masked_crc(&length).to_le_bytes());
    record.extend(data);
    record.extend(masked_crc(data).to_le_bytes());
    record
}

/// The checksum of `TFRecord`: rotated and shifted, so that a checksum of checksums is not trivial.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn event(wall_seconds: f64, step: u64) -> Vec<u8> {
    let mut event = vec![1 << 3 | 1];
    event.extend(wall_seconds.to_le_bytes());
    event.push(2 << 3);
    varint(&mut event, step);
    event
}

fn bytes_field(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The records of a file; both checksums of each must be right.
    fn records(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let crc = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let data = &bytes[12..12 + length];
            assert_eq!((crc(8), crc(12 + length)), (masked_crc(&bytes[..8]), masked_crc(data)));
            records.push(data.to_vec());
            bytes = &bytes[16 + length..];
        }
        records
    }

    /// The fields of a message: number and content.
    fn fields(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        fn read_varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = read_varint(&mut bytes);
            let content = match key & 7 {
                0 => read_varint(&mut bytes).to_le_bytes().to_vec(),
                kind => {
                    let length = match kind {
                        1 => 8,
                        5 => 4,
                        2 => read_varint(&mut bytes) as usize,
                        other => panic!("wire type {other}"),
                    };
                    let (content, rest) = bytes.split_at(length);
                    bytes = rest;
                    content.to_vec()
                }
            };
            fields.push(((key >> 3) as u8, content));
        }
        fields
    }

    #[test]
    fn the_checksum_is_crc_32c() {
        // RFC 3720, B.4.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
        // ((crc >> 15) | (crc << 17)) + 0xa282ead8, by hand.
        assert_eq!(masked_crc(&[0; 32]), 0x0fd7_fffa);
    }

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = EventWriter::create(folder.path(), "my host/1", 1_700_000_000.5, Some(299)).unwrap();
        let scalars = [
            NamedScalar { tag: "train/loss", value: 0.25 },
            NamedScalar { tag: "val/pearson", value: f64::NAN },
        ];
        writer.scalars(1_700_000_001.0, 300, &scalars).unwrap();
        let name = writer.path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("events.out.tfevents.1700000000.my_host_1."), "{name}");

        let records = records(&fs::read(&writer.path).unwrap());
        let step = |step: u64| (2, step.to_le_bytes().to_vec());
        let wall = |seconds: f64| (1, seconds.to_le_bytes().to_vec());
        assert_eq!(fields(&records[0]), [wall(1_700_000_000.5), step(0), (3, b"brain.Event:2".to_vec())]);
        assert_eq!(fields(&records[1]), [wall(1_700_000_000.5), step(300), (7, vec![8, 1])]);
        let event = fields(&records[2]);
        assert_eq!(event[..2], [wall(1_700_000_001.0), step(300)]);
        let values: Vec<_> = fields(&event[2].1).into_iter().map(|(_, value)| fields(&value)).collect();
        assert_eq!(values[0], [(1, b"train/loss".to_vec()), (2, 0.25_f32.to_le_bytes().to_vec())]);
        assert_eq!(values[1][0].1, b"val/pearson");
        assert_eq!((event[2].0, values.len(), records.len()), (5, 2, 3));
    }

    #[test]
    fn two_files_of_the_same_second_stay_apart() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            EventWriter::create(folder.path(), "h", 1.0, None).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
