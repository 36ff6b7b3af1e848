//! Checksums: of files that a manifest lists, and of JSON documents that contain their own.
//!
//! A checksum detects an edit; it does not prove who wrote the file.

use super::Folder;
use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The blake3 checksum of a file, as hexadecimal digits, and its length where a manifest has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum<'a> {
    /// blake3 of the content.
    pub blake3: &'a str,
    /// Length in bytes.
    pub bytes: Option<u64>,
}

impl<'a> Checksum<'a> {
    /// Creates a checksum of unknown length.
    pub fn new(blake3: &'a str) -> Self {
        Self { blake3, bytes: None }
    }

    /// Computes the digits of the checksum of some bytes.
    pub fn of(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }
}

impl Folder {
    /// Reads a file and verifies its checksum. `advice` ends the message of a file that is missing or damaged.
    pub fn read_checked(&self, name: &str, expected: Checksum<'_>, advice: &str) -> Result<Vec<u8>> {
        let damaged = |reason: &str| {
            Err(Error::damage(format!("the file {reason}; {advice}")).in_file(self.path().join(name)))
        };
        let Some(file) = self.find_file(name)? else { return damaged("is missing") };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        // The length first: a file that grew wild is not read into memory.
        if let Some(bytes) = expected.bytes.filter(|&bytes| bytes != length) {
            return damaged(&format!("is damaged: it has {length} bytes instead of {bytes}"));
        }
        let bytes = self.read_all(name, file)?;
        let found = Checksum::of(&bytes);
        if found != expected.blake3 {
            let expected = expected.blake3;
            return damaged(&format!(
                "is damaged: it does not match its checksum (expected {expected}, found {found})"
            ));
        }
        Ok(bytes)
    }
}

/// A JSON document whose last key, `checksum`, is blake3 of the document with nothing there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed<T> {
    /// The document without its checksum.
    pub value: T,
    /// Whether it has a checksum; documents of earlier versions may have none.
    pub is_sealed: bool,
}

const SEAL: &str = "\n  \"checksum\": \"";
const END: &str = "\"\n}\n";

#[derive(Serialize)]
struct WithChecksum<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    checksum: String,
}

/// Returns the text of a document with its checksum.
pub fn seal<T: Serialize>(value: &T) -> Result<String> {
    let text = |checksum: String| {
        let text = serde_json::to_string_pretty(&WithChecksum { value, checksum });
        text.map(|text| text + "\n").map_err(|error| Error::failure(error.to_string()).caused_by(error))
    };
    text(Checksum::of(text(String::new())?.as_bytes()))
}

impl<T: DeserializeOwned> Sealed<T> {
    /// Reads a document and verifies its checksum. A document that has none is not sealed.
    pub fn read(text: &[u8]) -> Result<Self> {
        let value = serde_json::from_slice(text)
            .map_err(|error| Error::damage(format!("it cannot be read: {error}")).caused_by(error))?;
        Ok(Self { value, is_sealed: verify(text)? })
    }
}

/// Returns whether a document has a checksum. One that does not match, or whose key was renamed, is an error.
fn verify(text: &[u8]) -> Result<bool> {
    #[derive(serde::Deserialize)]
    struct ClaimedChecksum {
        checksum: Option<serde::de::IgnoredAny>,
    }
    let claim: Result<ClaimedChecksum, _> = serde_json::from_slice(text);
    let has_key = claim.is_ok_and(|claim| claim.checksum.is_some());
    // The last value and its key, and the text as it was hashed: with an empty checksum under the right key.
    let parts = std::str::from_utf8(text).ok().and_then(|text| {
        let (before, last) = text.rsplit_once("\n  \"")?;
        let (key, found) = last.strip_suffix(END)?.split_once("\": \"")?;
        Some((Checksum::of(format!("{before}{SEAL}{END}").as_bytes()) == found, key))
    });
    match parts {
        Some((true, "checksum")) if has_key => Ok(true),
        Some((true, _)) => Err(Error::damage("the key of its checksum was renamed")),
        _ if has_key => Err(Error::damage("it does not match its own checksum")),
        _ => Ok(false),
    }
}

impl Folder {
    /// Writes a document with its checksum, whole or not at all.
    pub fn write_sealed<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let text = seal(value)?;
        self.replace(name, |out| out.write_all(text.as_bytes()))
    }

    /// Reads a document and verifies its checksum; `None` where there is no such file.
    pub fn find_sealed<T: DeserializeOwned>(&self, name: &str) -> Result<Option<Sealed<T>>> {
        let Some(text) = self.find(name)? else { return Ok(None) };
        let damaged = |error: Error| {
            let path = self.path().join(name);
            let reason = error.message();
            let advice = "move it away to make it again";
            Error::damage(format!("{} is damaged: {reason}; {advice}", path.display())).caused_by(error)
        };
        Sealed::read(&text).map(Some).map_err(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;
    use std::collections::BTreeMap;

    #[test]
    fn any_changed_byte_of_a_sealed_document_is_damage() {
        let value = BTreeMap::from([("pearson".to_owned(), 0.25), ("sd".to_owned(), 1e-300)]);
        let text = seal(&value).unwrap();
        let read = |text: &[u8]| Sealed::<BTreeMap<String, serde_json::Value>>::read(text);
        let found = read(text.as_bytes()).unwrap();
        assert!(found.is_sealed && found.value["pearson"] == 0.25);
        for index in 0..text.len() {
            for changed in [b' ', b'0', b'x', b'}'] {
                let mut bytes = text.clone().into_bytes();
                if std::mem::replace(&mut bytes[index], changed) == changed {
                    continue;
                }
                assert_eq!(read(&bytes).unwrap_err().class(), Class::Damage);
            }
        }
        assert!(!read(b"{\"pearson\": 0.25}").unwrap().is_sealed);
        let renamed = text.replace("\"checksum\"", "\"../outside/evil\"");
        let error = read(renamed.as_bytes()).unwrap_err();
        assert!(error.class() == Class::Damage && error.message().contains("renamed"), "{error}");
    }
}
