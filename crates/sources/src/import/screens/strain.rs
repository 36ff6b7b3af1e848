//! Names of strains: the genes and the kind of perturbation of each.
//!
//! A strain id is `GENE_suffixNNN`, or `GENE1+GENE2_tmNNN` for the double queries of Kuzmin. Only what the name states
//! is believed: `cdc7-4` is an allele; that it is temperature-sensitive is known only of `_tsa` and `_tsq` strains.

/// The kind of perturbation of a gene or a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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
    /// The source does not say.
    Unspecified,
    /// Genes of one sample perturbed in different ways.
    Mixed,
}

impl Kind {
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

    /// The kind that the suffix states; `None` where it states none.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self.suffix {
            "dma" | "sn" => Some(Kind::Deletion),
            "tsa" | "tsq" => Some(Kind::TemperatureSensitive),
            "damp" => Some(Kind::Damp),
            "S" | "s" => Some(Kind::Suppressor),
            _ => None,
        }
    }
}

/// The kind that an allele's name states: `ntg1Δ` (`ntg1_` in text exports, also `ntg1-delta`) is a deletion,
/// `cdc7-4` an allele.
pub(crate) fn kind_of_allele(name: &str) -> Kind {
    let name = name.trim();
    if name.is_empty() {
        Kind::Unspecified
    } else if name.ends_with(['Δ', '∆', '_']) || name.ends_with("delta") {
        Kind::Deletion
    } else {
        Kind::Allele
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strain_ids_come_apart() {
        let double = StrainId::parse("YAL015C+YDL227C_tm461").unwrap();
        assert_eq!((double.genes, double.suffix, double.kind()), ("YAL015C+YDL227C", "tm", None));
        assert_eq!(StrainId::parse("YAL068W-A_dma12").unwrap().kind(), Some(Kind::Deletion));
        assert_eq!(StrainId::parse("YBR282W_S253").unwrap().kind(), Some(Kind::Suppressor));
        assert_eq!(StrainId::parse("YDR361C_tsa580").unwrap().kind(), Some(Kind::TemperatureSensitive));
        for bad in ["", "YAL015C", "_tm1", "YAL015C_", "YAL015C+_tm1", "0.0448", "YAL015C_1"] {
            assert_eq!(StrainId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn allele_names_state_deletions_and_nothing_more() {
        for name in ["ntg1Δ", "swd1_", "cup1-1Δ"] {
            assert_eq!(kind_of_allele(name), Kind::Deletion, "{name}");
        }
        for name in ["cdc7-4", "ALG14-ph", "kap95-E126K"] {
            assert_eq!(kind_of_allele(name), Kind::Allele, "{name}");
        }
        assert_eq!(Kind::of_all([Kind::Deletion, Kind::Deletion]), Kind::Deletion);
        assert_eq!(Kind::of_all([Kind::Deletion, Kind::Damp]), Kind::Mixed);
    }
}
