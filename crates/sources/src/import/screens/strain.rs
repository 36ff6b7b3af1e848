//! Names of strains: the genes and the kind of perturbation of each.
//!
//! A strain id is `GENE_suffixNNN`, or `GENE1+GENE2_tmNNN` for the double queries of Kuzmin. Only what the name states
//! is believed: `cdc7-4` is an allele; that it is temperature-sensitive is known only of `_tsa` and `_tsq` strains.

use smallvec::SmallVec;
use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroU64;

/// The kind of perturbation of a gene or a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PerturbationKind {
    /// The gene is gone.
    Deletion,
    /// A temperature-sensitive allele.
    TemperatureSensitive,
    /// Decreased abundance by mRNA perturbation.
    Damp,
    /// A deletion with a suppressor mutation.
    Suppressor,
    /// A named allele of another sort.
    Allele,
    /// The source does not state it.
    Unspecified,
    /// Genes of one sample perturbed in different ways.
    Mixed,
}

impl PerturbationKind {
    /// The word in the `kind` column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deletion => "deletion",
            Self::TemperatureSensitive => "ts",
            Self::Damp => "damp",
            Self::Suppressor => "suppressor",
            Self::Allele => "allele",
            Self::Unspecified => "unspecified",
            Self::Mixed => "mixed",
        }
    }

    /// The kind of a sample from those of its genes.
    pub(crate) fn of_all(kinds: impl IntoIterator<Item = Self>) -> Self {
        let mut kinds = kinds.into_iter();
        let Some(first) = kinds.next() else { return Self::Unspecified };
        if kinds.all(|kind| kind == first) { first } else { Self::Mixed }
    }
}

/// How a gene is perturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allele<'a> {
    /// The kind of perturbation.
    pub kind: PerturbationKind,
    /// The name of the allele, empty where the source gives none.
    pub name: &'a str,
}

impl Allele<'_> {
    /// Feeds a hasher so that equal alleles hash alike; `None` where the allele is not known.
    ///
    /// Deletions of a gene are the same allele whatever their names, and so are those of reduced abundance.
    fn hash_to(self, hasher: &mut impl Hasher) -> Option<()> {
        let name = match self.kind {
            PerturbationKind::Deletion | PerturbationKind::Damp => "",
            _ if self.name.is_empty() => return None,
            _ => self.name,
        };
        hasher.write(self.kind.name().as_bytes());
        name.bytes().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
        Some(())
    }
}

/// The perturbation of a row: the allele of each gene, or a word for all.
#[derive(Debug, Clone, Copy)]
pub enum Perturbation<'p> {
    /// One allele for each gene, in the order of the genes.
    Alleles(&'p [Allele<'p>]),
    /// The kind of perturbation, where the source names no alleles.
    Kind(&'p str),
}

/// Identity of the alleles of a sample: equal for equal alleles of the same genes.
pub(crate) type AlleleKey = NonZeroU64;

impl<'p> Perturbation<'p> {
    /// The word in the `kind` column.
    pub(crate) fn kind(self) -> &'p str {
        match self {
            Self::Alleles(alleles) => {
                PerturbationKind::of_all(alleles.iter().map(|allele| allele.kind)).name()
            }
            Self::Kind(kind) => kind,
        }
    }

    /// Returns the identity of the alleles of genes; `None` unless all are known.
    pub(crate) fn key(self, genes: &[u32]) -> Option<AlleleKey> {
        let allele = |index: usize| match self {
            Self::Alleles(alleles) => alleles.get(index).copied(),
            Self::Kind(kind) => (kind == PerturbationKind::Deletion.name())
                .then_some(Allele { kind: PerturbationKind::Deletion, name: "" }),
        };
        let mut order: SmallVec<[usize; 4]> = (0..genes.len()).collect();
        order.sort_unstable_by_key(|&index| genes[index]);
        let mut hasher = DefaultHasher::new();
        for index in order {
            hasher.write_u32(genes[index]);
            allele(index)?.hash_to(&mut hasher)?;
        }
        NonZeroU64::new(hasher.finish())
    }
}

/// The parts of a strain id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StrainId<'s> {
    /// `YAL015C+YDL227C`.
    pub genes: &'s str,
    /// `tm`, `dma`, `sn` …, without the number.
    pub suffix: &'s str,
}

impl<'s> StrainId<'s> {
    /// Takes a strain id apart; `None` if it is none.
    pub(crate) fn parse(id: &'s str) -> Option<Self> {
        let (genes, suffix) = id.split_once('_')?;
        let suffix = suffix.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_fine =
            !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let has_genes = genes.split('+').all(|gene| gene.len() >= 3 && gene.is_ascii());
        (is_fine && has_genes).then_some(Self { genes, suffix })
    }

    /// Returns the allele of a strain, given its name in the row.
    pub(crate) fn allele<'a>(&self, name: &'a str) -> Allele<'a> {
        Allele { kind: self.kind().unwrap_or_else(|| kind_of_allele(name)), name: name.trim() }
    }

    /// The kind that the suffix states; `None` where it states none.
    pub(crate) fn kind(&self) -> Option<PerturbationKind> {
        match self.suffix {
            "dma" | "sn" => Some(PerturbationKind::Deletion),
            "tsa" | "tsq" => Some(PerturbationKind::TemperatureSensitive),
            "damp" => Some(PerturbationKind::Damp),
            "S" | "s" => Some(PerturbationKind::Suppressor),
            _ => None,
        }
    }
}

/// The kind that an allele's name states: `ntg1Δ` (`ntg1_` in text exports, also `ntg1-delta`) is a deletion,
/// `cdc7-4` an allele.
pub(crate) fn kind_of_allele(name: &str) -> PerturbationKind {
    let name = name.trim();
    if name.is_empty() {
        PerturbationKind::Unspecified
    } else if name.ends_with(['Δ', '∆', '_']) || name.ends_with("delta") {
        PerturbationKind::Deletion
    } else {
        PerturbationKind::Allele
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strain_ids_come_apart() {
        let double = StrainId::parse("YAL015C+YDL227C_tm461").unwrap();
        assert_eq!((double.genes, double.suffix, double.kind()), ("YAL015C+YDL227C", "tm", None));
        assert_eq!(StrainId::parse("YAL068W-A_dma12").unwrap().kind(), Some(PerturbationKind::Deletion));
        assert_eq!(StrainId::parse("YBR282W_S253").unwrap().kind(), Some(PerturbationKind::Suppressor));
        assert_eq!(
            StrainId::parse("YDR361C_tsa580").unwrap().kind(),
            Some(PerturbationKind::TemperatureSensitive)
        );
        for bad in ["", "YAL015C", "_tm1", "YAL015C_", "YAL015C+_tm1", "0.0448", "YAL015C_1"] {
            assert_eq!(StrainId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn alleles_are_the_same_or_not() {
        let key = |genes: &[u32], alleles: [(PerturbationKind, &'static str); 2]| {
            Perturbation::Alleles(&alleles.map(|(kind, name)| Allele { kind, name })).key(genes)
        };
        let (deletion, damp) = ((PerturbationKind::Deletion, "ntg1Δ"), (PerturbationKind::Damp, "DAMP"));
        let (eight, nine) = ((PerturbationKind::Allele, "POL30-8"), (PerturbationKind::Allele, "pol30-79"));
        let one = key(&[1, 2], [deletion, eight]);
        assert!(one.is_some());
        assert_eq!(
            one,
            key(&[2, 1], [(PerturbationKind::Allele, "pol30-8"), (PerturbationKind::Deletion, "")]),
            "any order and case"
        );
        assert_ne!(one, key(&[1, 2], [deletion, nine]));
        assert_ne!(one, key(&[2, 1], [deletion, eight]), "the other gene has the allele");
        assert_ne!(key(&[1, 2], [deletion, damp]), key(&[1, 2], [damp, deletion]));
        assert_eq!(key(&[1, 2], [deletion, (PerturbationKind::Unspecified, "")]), None);
        assert_eq!(Perturbation::Kind("unspecified").key(&[1, 2]), None);
        assert_eq!(Perturbation::Kind("deletion").key(&[1, 2]), key(&[1, 2], [deletion, deletion]));
    }

    #[test]
    fn allele_names_state_deletions_and_nothing_more() {
        for name in ["ntg1Δ", "swd1_", "cup1-1Δ"] {
            assert_eq!(kind_of_allele(name), PerturbationKind::Deletion, "{name}");
        }
        for name in ["cdc7-4", "ALG14-ph", "kap95-E126K"] {
            assert_eq!(kind_of_allele(name), PerturbationKind::Allele, "{name}");
        }
        assert_eq!(
            PerturbationKind::of_all([PerturbationKind::Deletion, PerturbationKind::Deletion]),
            PerturbationKind::Deletion
        );
        assert_eq!(
            PerturbationKind::of_all([PerturbationKind::Deletion, PerturbationKind::Damp]),
            PerturbationKind::Mixed
        );
    }
}
