//! How samples are divided: by a recipe, by a fold of one, or by a file.

use knockout_base::error::{Error, Result};
use knockout_data::screen::{DEFAULT_SPLIT_SEED, Dataset, Division, Scheme, Split, SplitSpec};
use knockout_models::limits;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// How samples are divided: the keys `split.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitOptions {
    /// The scheme: what is held out.
    pub scheme: Scheme,
    /// Fraction of the validation part.
    pub val: f64,
    /// Fraction of the test part.
    pub test: f64,
    /// Number of samples used, drawn from each part in proportion; 0 means all.
    pub subset: usize,
    /// Number of samples of the training part, with the other parts whole, for learning curves; 0 means all.
    #[serde(default)]
    pub train_subset: usize,
    /// Seed of the split, apart from that of the run: runs with several seeds are evaluated on the same records.
    pub seed: u64,
    /// A fold instead of fractions.
    #[serde(default)]
    pub fold: Fold,
    /// A split file to use instead of making a split; empty means none. The other keys then describe how it was made.
    #[serde(default)]
    pub file: String,
}

/// One of several folds, written `0/5`; empty for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fold(Option<(u32, u32)>);

impl Fold {
    /// Fold `fold` of `folds`, from 0.
    pub fn of(fold: u32, folds: u32) -> Self {
        Self(Some((fold, folds)))
    }
}

impl fmt::Display for Fold {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some((fold, folds)) => write!(out, "{fold}/{folds}"),
        }
    }
}

impl From<Fold> for String {
    fn from(fold: Fold) -> Self {
        fold.to_string()
    }
}

impl TryFrom<String> for Fold {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let parsed = text
            .split_once('/')
            .and_then(|(fold, folds)| Some((fold.trim().parse().ok()?, folds.trim().parse().ok()?)));
        let (fold, folds) = parsed.ok_or_else(|| {
            format!("split.fold is {text:?}; write the fold that tests, from 0, and the number of folds: 0/5")
        })?;
        Ok(Self::of(fold, folds))
    }
}

impl Default for SplitOptions {
    fn default() -> Self {
        Self {
            scheme: Scheme::Random,
            val: 0.1,
            test: 0.1,
            subset: 0,
            train_subset: 0,
            seed: DEFAULT_SPLIT_SEED,
            fold: Fold::default(),
            file: String::new(),
        }
    }
}

impl SplitOptions {
    /// Checks the fractions.
    pub(super) fn check(&self) -> Result<()> {
        let rule = "it must be from 0 to below 1, and leave something to train on";
        for (key, value) in [("split.val", self.val), ("split.test", self.test)] {
            if !(0.0..1.0).contains(&value) || self.val + self.test >= 1.0 {
                return Err(limits::out_of_range(key, value, rule));
            }
        }
        Ok(())
    }

    /// The recipe of the split.
    pub fn spec(&self) -> SplitSpec {
        SplitSpec {
            scheme: self.scheme,
            division: match self.fold.0 {
                Some((fold, folds)) => Division::Fold { folds, fold },
                None => Division::Shares { val: self.val, test: self.test },
            },
            seed: self.seed,
            subset: (self.subset > 0).then_some(self.subset),
            train_subset: (self.train_subset > 0).then_some(self.train_subset),
        }
    }

    /// Divides a dataset: reads the file, or follows the recipe.
    pub fn apply(&self, dataset: &Dataset) -> Result<Split> {
        if self.file.is_empty() {
            return Split::new(&dataset.samples, dataset.cell.genes(), self.spec());
        }
        let split = Split::load(Path::new(&self.file), &dataset.manifest)?;
        self.refuse_contradiction(split.spec())?;
        Ok(split)
    }

    /// Returns these options with the recipe of a split and the absolute path of its file, as a run stores them.
    #[must_use]
    pub fn resolved(&self, split: &Split) -> Self {
        let mut out = self.with_recipe(split.spec());
        if !out.file.is_empty()
            && let Ok(path) = std::path::absolute(&out.file)
        {
            out.file = path.display().to_string();
        }
        out
    }

    fn with_recipe(&self, spec: &SplitSpec) -> Self {
        let (mut val, mut test, mut fold) = (self.val, self.test, Fold::default());
        match spec.division {
            Division::Shares { val: v, test: t } => (val, test) = (v, t),
            Division::Fold { folds, fold: of } => fold = Fold::of(of, folds),
        }
        let (scheme, seed, file) = (spec.scheme, spec.seed, self.file.clone());
        let [subset, train_subset] = [spec.subset, spec.train_subset].map(Option::unwrap_or_default);
        Self { scheme, val, test, subset, train_subset, seed, fold, file }
    }

    /// Refuses a changed key whose value differs from that of the file.
    fn refuse_contradiction(&self, spec: &SplitSpec) -> Result<()> {
        let keys = |options: &Self| {
            [
                ("scheme", options.scheme.name().to_owned()),
                ("val", options.val.to_string()),
                ("test", options.test.to_string()),
                ("subset", options.subset.to_string()),
                ("train_subset", options.train_subset.to_string()),
                ("seed", options.seed.to_string()),
                ("fold", options.fold.to_string()),
            ]
        };
        let (defaults, asked, found) = (keys(&Self::default()), keys(self), keys(&self.with_recipe(spec)));
        for ((default, asked), found) in defaults.into_iter().zip(asked).zip(found) {
            if asked != default && asked != found {
                let ((key, asked), (_, found)) = (asked, found);
                let file = &self.file;
                return Err(Error::request(format!(
                    "{file} was made with split.{key}={found}, not {asked}; leave split.{key} out"
                )));
            }
        }
        Ok(())
    }
}
