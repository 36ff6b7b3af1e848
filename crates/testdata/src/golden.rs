//! Golden numbers: small cases computed with PyTorch, with the tolerance of every figure.
//!
//! One small case per family is in `cases/` (made by `small_profile.py` and `transformer_case.py` beside it), so that every machine compares with PyTorch. Where
//! there is [`Resource::Golden`], its larger cases come on top.

use crate::Resource;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One case.
pub struct Case {
    /// Its name, such as `dango/mixed`.
    pub name: String,
    /// `case.json`: sizes, options, expected scalars.
    pub json: Value,
    tensors: BTreeMap<String, GoldenTensor>,
}

struct GoldenTensor {
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// The float type that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits: the tolerance is `atol_f32`.
    F32,
    /// 64 bits: the tolerance is `atol_f64`.
    F64,
}

/// The cases whose name starts with `prefix`: those of the repository, then those of the full set where there is one.
///
/// # Panics
///
/// If a case cannot be read, if a folder has none that matches, or if `KNOCKOUT_REQUIRE` demands a full set and there is none.
pub fn cases(prefix: &str) -> Vec<Case> {
    let full = Resource::Golden.locate();
    assert!(full.is_ok() || !Resource::Golden.is_required(), "{full:?}");
    let full = full.ok().into_iter().flat_map(|folder| cases_in(&folder, prefix));
    small_cases(prefix).into_iter().chain(full).collect()
}

/// The cases of the repository alone, for a family that the full set does not have.
///
/// # Panics
///
/// If one cannot be read or none matches.
pub fn small_cases(prefix: &str) -> Vec<Case> {
    cases_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), prefix)
}

/// The cases of one folder whose name starts with `prefix`.
///
/// # Panics
///
/// If one cannot be read or none matches.
pub fn cases_in(folder: &Path, prefix: &str) -> Vec<Case> {
    let index = read_json(&folder.join("index.json"));
    let names = index["cases"].as_array().expect("index.json lists cases");
    let cases: Vec<Case> = names
        .iter()
        .filter_map(|case| case["case"].as_str())
        .filter(|name| name.starts_with(prefix))
        .map(|name| Case::read(folder, name))
        .collect();
    assert!(!cases.is_empty(), "{} lists no case {prefix:?}", folder.display());
    cases
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Case {
    fn read(folder: &Path, name: &str) -> Self {
        let json = read_json(&folder.join(name).join("case.json"));
        let path = folder.join(name).join("tensors.safetensors");
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file =
            SafeTensors::deserialize(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let tensors = file
            .tensors()
            .into_iter()
            .map(|(name, view)| {
                let values = match view.dtype() {
                    Dtype::F32 => chunks(view.data(), |b| f64::from(f32::from_le_bytes(b))),
                    Dtype::F64 => chunks(view.data(), f64::from_le_bytes),
                    Dtype::I64 => chunks(view.data(), |b| i64::from_le_bytes(b) as f64),
                    other => panic!("{}: {name} is {other:?}", path.display()),
                };
                (name, GoldenTensor { shape: view.shape().to_vec(), values })
            })
            .collect();
        Self { name: name.to_owned(), json, tensors }
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn tensor(&self, name: &str) -> &GoldenTensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("{}: no tensor {name:?}", self.name))
    }

    /// A tensor's shape.
    pub fn shape(&self, name: &str) -> &[usize] {
        &self.tensor(name).shape
    }

    /// A tensor's values, widened.
    pub fn f64(&self, name: &str) -> &[f64] {
        &self.tensor(name).values
    }

    /// A tensor's values in 32 bits.
    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.f64(name).iter().map(|&value| value as f32).collect()
    }

    /// A tensor of indices.
    pub fn indices(&self, name: &str) -> Vec<u32> {
        self.f64(name).iter().map(|&value| value as u32).collect()
    }

    /// The names that start with `prefix`, in order, without the `.f64` twins.
    pub fn names<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.tensors
            .keys()
            .map(String::as_str)
            .filter(move |name| name.starts_with(prefix) && name.strip_suffix(".f64").is_none())
    }

    /// The value to compare with: the `.f64` twin, or the tensor itself where there is none.
    pub fn expected(&self, name: &str) -> &[f64] {
        self.tensors.get(&format!("{name}.f64")).map_or_else(|| self.f64(name), |twin| &twin.values)
    }

    /// The suggested absolute tolerance of an expected value.
    pub fn tolerance(&self, name: &str, precision: Precision) -> f64 {
        let key = match precision {
            Precision::F32 => "atol_f32",
            Precision::F64 => "atol_f64",
        };
        let tensors = self.json["tensors"].as_array().expect("case.json lists tensors");
        let of = |name: &str| {
            tensors.iter().find(|tensor| tensor["name"] == name).and_then(|tensor| tensor[key].as_f64())
        };
        of(name)
            .or_else(|| of(&format!("{name}.f64")))
            .unwrap_or_else(|| panic!("{}: {name:?} has no {key}", self.name))
    }

    /// How many tolerances the worst element is away from the expected value; at most 1 is right.
    ///
    /// # Panics
    ///
    /// If the sizes differ.
    pub fn error(&self, name: &str, mine: impl IntoIterator<Item = f64>, precision: Precision) -> f64 {
        let (expected, tolerance) = (self.expected(name), self.tolerance(name, precision));
        let mine: Vec<f64> = mine.into_iter().collect();
        assert_eq!(mine.len(), expected.len(), "{}: {name} has another size", self.name);
        let distance = |(a, b): (&f64, &f64)| match (a.is_nan(), b.is_nan()) {
            (true, true) => 0.0,
            (false, false) => (a - b).abs() / tolerance,
            _ => f64::INFINITY,
        };
        mine.iter().zip(expected).map(distance).fold(0.0, f64::max)
    }

    /// Fails the test unless every element is within the tolerance.
    ///
    /// # Panics
    ///
    /// If one is not.
    pub fn check(&self, name: &str, mine: impl IntoIterator<Item = f64>, precision: Precision) {
        let error = self.error(name, mine, precision);
        assert!(error <= 1.0, "{}: {name} is off by {error:.2} tolerances ({precision:?})", self.name);
    }
}

fn chunks<const N: usize>(bytes: &[u8], decode: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| decode(chunk)).collect()
}
