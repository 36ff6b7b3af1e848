//! Names of strains: the genes and the kind of perturbation of each.
//!
//! A strain id is `GENE_suffixNNN`, or `GENE1+GENE2_tmNNN` for the double queries of Kuzmin. Only what the name states
//! is believed: `cdc7-4` is an allele; that it is temperature-sensitive is known only of `_tsa` and `_tsq` strains.

use crate::import::read::is_missing;
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
    /// Returns whether all alleles of a gene with this kind count as one, whatever their names.
    fn has_one_allele(self) -> bool {
        matches!(self, Self::Deletion | Self::Damp)
    }

    /// Returns the kind that a word states, in any case; `None` for other words.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "deletion" | "deleted" | "del" | "delta" | "knockout" | "ko" | "\u{394}" | "\u{3b4}" => {
                Self::Deletion
            }
            "ts" => Self::TemperatureSensitive,
            "damp" => Self::Damp,
            "suppressor" => Self::Suppressor,
            "allele" => Self::Allele,
            "unspecified" => Self::Unspecified,
            "mixed" => Self::Mixed,
            _ => return None,
        })
    }

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

impl<'a> Allele<'a> {
    /// Returns the name that tells it from other alleles of its gene and kind.
    ///
    /// Deletions of a gene are the same allele whatever their names, and so are those of reduced abundance.
    pub(crate) fn distinct_name(self) -> &'a str {
        if self.kind.has_one_allele() { "" } else { self.name }
    }

    /// Feeds a hasher so that equal alleles hash alike; `None` where the allele is not known.
    fn hash_to(self, hasher: &mut impl Hasher) -> Option<()> {
        let name = self.distinct_name();
        if name.is_empty() && !self.kind.has_one_allele() {
            return None;
        }
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
    /// The kind of perturbation that the source states for the row, without alleles.
    Kind(&'p str),
    /// The kind that the user states for all rows of a source.
    OfAll(&'p str),
    /// Nothing is stated. The row counts as a deletion, and its repeats may be of other alleles.
    Unstated,
    /// One allele for each gene, and the kind that the source states for the row.
    Stated(&'p str, &'p [Allele<'p>]),
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
            Self::Kind(kind) | Self::OfAll(kind) | Self::Stated(kind, _) => kind,
            Self::Unstated => PerturbationKind::Deletion.name(),
        }
    }

    /// Returns the allele of the gene with this index.
    pub(crate) fn allele(self, index: usize) -> Allele<'p> {
        match self {
            Self::Alleles(alleles) | Self::Stated(_, alleles) => alleles.get(index).copied(),
            Self::Kind(_) | Self::OfAll(_) | Self::Unstated => {
                let is_deletion = self.kind() == PerturbationKind::Deletion.name();
                is_deletion.then_some(Allele { kind: PerturbationKind::Deletion, name: "" })
            }
        }
        .unwrap_or(Allele { kind: PerturbationKind::Unspecified, name: "" })
    }

    /// Returns the perturbation with the alleles that the names of genes state. A kind that the source states stays, and so does a word
    /// that is not a kind of a gene.
    pub(crate) fn with_alleles(self, alleles: &'p [Allele<'p>]) -> Self {
        match self {
            Self::OfAll(kind) if kind != PerturbationKind::Deletion.name() => Self::Stated(kind, alleles),
            Self::Alleles(_) | Self::OfAll(_) | Self::Unstated => Self::Alleles(alleles),
            Self::Kind(kind) | Self::Stated(kind, _) => Self::Stated(kind, alleles),
        }
    }

    /// Returns the alleles of all genes; nothing if they state no more than the kind of the sample does.
    pub(crate) fn stated(self, gene_count: usize) -> SmallVec<[Allele<'p>; 4]> {
        let alleles: SmallVec<[Allele<'p>; 4]> = (0..gene_count).map(|index| self.allele(index)).collect();
        let states_no_more = |allele: &Allele<'_>| match allele.kind {
            kind if kind.has_one_allele() => kind.name() == self.kind(),
            PerturbationKind::Unspecified => allele.name.is_empty(),
            _ => false,
        };
        let first = alleles.first().map(|allele| allele.kind);
        let is_uniform = alleles.iter().all(|allele| Some(allele.kind) == first && states_no_more(allele));
        if is_uniform { SmallVec::new() } else { alleles }
    }

    /// Returns the identity of the alleles of genes; `None` unless all are known.
    pub(crate) fn key(self, genes: &[u32]) -> Option<AlleleKey> {
        if matches!(self, Self::Unstated) {
            return None;
        }
        let mut order: SmallVec<[usize; 4]> = (0..genes.len()).collect();
        order.sort_unstable_by_key(|&index| genes[index]);
        let mut hasher = DefaultHasher::new();
        for index in order {
            hasher.write_u32(genes[index]);
            self.allele(index).hash_to(&mut hasher)?;
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

/// Returns the kind of an allele in a column of its own.
///
/// Words for kinds, such as `DELETION` and `DAMP`, are kinds of their own. `delta ydr133c` deletes an overlapping reading frame, and
/// `POL30-8` is a mutant: both are alleles of the gene they are listed under.
pub(crate) fn kind_of_column(allele: &str) -> PerturbationKind {
    if is_missing(allele) {
        return PerturbationKind::Unspecified;
    }
    PerturbationKind::of_word(allele).unwrap_or(PerturbationKind::Allele)
}

/// Returns the name of an allele in a column of its own; empty for a mark of a missing value.
pub(crate) fn name_of_column(allele: &str) -> &str {
    if is_missing(allele) { "" } else { allele }
}

/// The kind that an allele's name states: `ntg1Δ` (`ntg1_` in text exports, also `ntg1-delta`) is a deletion,
/// `cdc7-4` an allele.
pub(crate) fn kind_of_allele(name: &str) -> PerturbationKind {
    let name = name.trim();
    if name.is_empty() {
        PerturbationKind::Unspecified
    } else if name.ends_with(DELTAS) || name.ends_with('_') || name.ends_with("delta") {
        PerturbationKind::Deletion
    } else {
        PerturbationKind::Allele
    }
}

/// A gene's name as laboratories write it, with the allele: `yml090wΔ`, `HTZ1-DAmP`, `cdc48-3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedAllele<'n> {
    /// The name without the allele.
    pub gene: &'n str,
    /// The allele.
    pub allele: Allele<'n>,
    /// Whether nothing but an allele is written like this, so that no gene table is needed to tell.
    pub is_certain: bool,
}

impl<'n> NamedAllele<'n> {
    /// Takes a name apart; `None` if it does not look like that of an allele.
    ///
    /// A number behind a hyphen is an allele only after a name in the form of yeast's genes: `cdc48-3`, not `let-23` or `HLA-A`. In lower case
    /// it is certain; `NKX2-1` is a human gene.
    pub(crate) fn split(name: &'n str) -> Option<Self> {
        let of = |gene: &'n str, kind, is_certain| {
            (!gene.is_empty()).then_some(Self { gene, allele: Allele { kind, name }, is_certain })
        };
        let deleted = |gene: &'n str| of(gene, PerturbationKind::Deletion, true);
        if let Some(gene) = name.strip_prefix(DELTAS) {
            return if gene.contains(DELTAS) { None } else { deleted(gene) };
        }
        if let Some((gene, rest)) = name.split_once(DELTAS) {
            // `his3Δ1`, `his3Δ::kanMX`.
            let is_fine =
                rest.is_empty() || rest.starts_with("::") || rest.bytes().all(|byte| byte.is_ascii_digit());
            return if is_fine { deleted(gene.trim_end_matches(['-', '_', ' '])) } else { None };
        }
        if let Some((gene, _)) = name.split_once("::") {
            return deleted(gene);
        }
        for (ending, kind) in [
            ("delta", PerturbationKind::Deletion),
            ("del", PerturbationKind::Deletion),
            ("damp", PerturbationKind::Damp),
        ] {
            let gene = without_ending(name, ending).and_then(|gene| gene.strip_suffix(['-', '_', ' ']));
            if let Some(gene) = gene {
                return of(gene, kind, true);
            }
        }
        if let Some(strain) = StrainId::parse(name)
            && let Some(kind) = strain.kind()
            && !strain.genes.contains('+')
        {
            return of(strain.genes, kind, is_systematic(strain.genes));
        }
        let (gene, suffix) = name.rsplit_once('-')?;
        let is_short =
            |name: &str| is_standard_name(name) && !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let is_yeast = is_systematic(gene) || is_standard_name(gene);
        let kind = allele_suffix(suffix).filter(|_| is_yeast)?;
        of(gene, kind, is_systematic(gene) || is_short(gene))
    }
}

/// The letter delta and the sign of an increment.
const DELTAS: [char; 2] = ['Δ', '∆'];

/// Returns what stands before an ending, in any case.
fn without_ending<'n>(name: &'n str, ending: &str) -> Option<&'n str> {
    let at = name.len().checked_sub(ending.len())?;
    (name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case(ending)).then(|| &name[..at])
}

/// Returns the kind of a yeast allele by what follows the hyphen: `3`, `8a`, `ts`, `td`, `ph`, `E126K`.
fn allele_suffix(suffix: &str) -> Option<PerturbationKind> {
    let lower = suffix.to_ascii_lowercase();
    let is_whole = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number_or_none = |text: &str| text.is_empty() || is_whole(text);
    if lower.strip_prefix("ts").is_some_and(is_number_or_none) {
        return Some(PerturbationKind::TemperatureSensitive);
    }
    let is_degron =
        ["td", "ph", "aid"].iter().any(|word| lower.strip_prefix(word).is_some_and(is_number_or_none));
    let is_number = is_whole(lower.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(&lower));
    let is_mutation = suffix.len() >= 3
        && suffix.starts_with(|c: char| c.is_ascii_uppercase())
        && suffix.ends_with(|c: char| c.is_ascii_uppercase())
        && is_whole(suffix.get(1..suffix.len() - 1).unwrap_or_default());
    (is_degron || is_number || is_mutation).then_some(PerturbationKind::Allele)
}

/// Whether a name is a systematic one of budding yeast: `YAL001C`, `YAL068W-A`, `Q0045`.
pub(crate) fn is_systematic(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let (gene, extra) = upper.split_once('-').map_or((&upper[..], None), |(gene, extra)| (gene, Some(extra)));
    let bytes = gene.as_bytes();
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let is_gene = match bytes {
        [b'Y', chromosome, arm, number @ .., strand] => {
            (b'A'..=b'P').contains(chromosome)
                && matches!(arm, b'L' | b'R')
                && number.len() == 3
                && digits(number)
                && matches!(strand, b'W' | b'C')
        }
        [b'Q', b'0', number @ ..] => number.len() == 3 && digits(number) && extra.is_none(),
        _ => false,
    };
    is_gene
        && extra.is_none_or(|extra| extra.len() == 1 && extra.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// Whether a name has the form of a standard name of yeast: three letters and a number.
fn is_standard_name(name: &str) -> bool {
    name.is_ascii() && name.len() > 3 && name.len() <= 6 && {
        let (letters, number) = name.split_at(3);
        letters.bytes().all(|byte| byte.is_ascii_alphabetic())
            && number.bytes().all(|byte| byte.is_ascii_digit())
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
        let deletions = key(&[1, 2], [deletion, deletion]);
        assert_eq!(Perturbation::Kind("deletion").key(&[1, 2]), deletions);
        assert_eq!(Perturbation::OfAll("deletion").key(&[1, 2]), deletions);
        assert_eq!(Perturbation::Unstated.key(&[1, 2]), None, "the allele is not stated");
        assert_eq!(Perturbation::Unstated.kind(), "deletion");
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

    #[test]
    fn names_of_alleles_come_apart() {
        let split =
            |name| NamedAllele::split(name).map(|found| (found.gene, found.allele.kind, found.is_certain));
        for (name, gene, kind) in [
            ("yml090wΔ", "yml090w", PerturbationKind::Deletion),
            ("Δcdc48", "cdc48", PerturbationKind::Deletion),
            ("his3∆1", "his3", PerturbationKind::Deletion),
            ("DUR1,2Δ", "DUR1,2", PerturbationKind::Deletion),
            ("YML090W::KanMX", "YML090W", PerturbationKind::Deletion),
            ("ntg1-delta", "ntg1", PerturbationKind::Deletion),
            ("HTZ1-DAmP", "HTZ1", PerturbationKind::Damp),
            ("YOL012C_damp", "YOL012C", PerturbationKind::Damp),
            ("cdc48-3", "cdc48", PerturbationKind::Allele),
            ("pol30-8a", "pol30", PerturbationKind::Allele),
            ("YBR088C-79", "YBR088C", PerturbationKind::Allele),
            ("act1-ts", "act1", PerturbationKind::TemperatureSensitive),
            ("YDR361C_tsa580", "YDR361C", PerturbationKind::TemperatureSensitive),
            ("kap95-E126K", "kap95", PerturbationKind::Allele),
        ] {
            assert_eq!(split(name), Some((gene, kind, true)), "{name}");
        }
        assert_eq!(split("POL30-8"), Some(("POL30", PerturbationKind::Allele, false)));
        assert_eq!(split("NKX2-1"), Some(("NKX2", PerturbationKind::Allele, false)));
        for name in [
            "YAL068W-A",
            "let-23",
            "HLA-A",
            "KRTAP5-1",
            "HTZ1",
            "YOL012C",
            "DUR1,2",
            "21S_rRNA",
            "9-1-1",
            "-",
            "Δ",
            "1-Sep",
            "damp",
            "ΔΔ",
            "",
            "Nup133",
            "PIK3CDELTA",
        ] {
            assert_eq!(split(name), None, "{name}");
        }
        assert!(
            is_systematic("ydr134c-a")
                && is_systematic("Q0045")
                && !is_systematic("YAL1")
                && !is_systematic("YALI0")
        );
    }
}
