//! In which steps a loss that couples samples sees all of a batch: the key `train.gather_every`.

use serde::{Deserialize, Serialize};

/// Steps from one gather of a batch's rows to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum GatherEvery {
    /// Every so many steps, from step 0 on.
    Steps(u64),
    /// In no step: written `never`.
    Never,
}

/// The word for [`GatherEvery::Never`].
pub(super) const NEVER: &str = "never";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Steps(u64),
    Word(String),
}

impl GatherEvery {
    /// Returns whether rows are gathered in a step.
    pub(crate) fn is_due(self, step: u64) -> bool {
        match self {
            Self::Steps(steps) => step.is_multiple_of(steps),
            Self::Never => false,
        }
    }
}

impl TryFrom<Written> for GatherEvery {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Steps(steps) => Ok(Self::Steps(steps)),
            Written::Word(word) if word == NEVER => Ok(Self::Never),
            Written::Word(word) => {
                Err(format!("train.gather_every takes a number of steps or {NEVER}, not {word:?}"))
            }
        }
    }
}

impl From<GatherEvery> for Written {
    fn from(gather: GatherEvery) -> Self {
        match gather {
            GatherEvery::Steps(steps) => Self::Steps(steps),
            GatherEvery::Never => Self::Word(NEVER.to_owned()),
        }
    }
}
