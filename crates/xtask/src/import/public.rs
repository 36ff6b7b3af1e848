//! A small file of every public format, as its publisher writes it.

use super::archive::workbook;
use super::store;
use std::fmt::Write as _;

/// A file, and the option that imports it.
pub(super) struct Public {
    pub(super) option: &'static str,
    pub(super) source: &'static str,
    pub(super) file: &'static str,
    /// Its text; nothing for what is made by code.
    pub(super) content: &'static str,
    pub(super) is_text: bool,
}

impl Public {
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self.file {
            "kuzmin.xlsx" => sheet(KUZMIN),
            store::FILE => store::sound(),
            _ => self.content.as_bytes().to_vec(),
        }
    }
}

const fn text(
    option: &'static str,
    source: &'static str,
    file: &'static str,
    content: &'static str,
) -> Public {
    Public { option, source, file, content, is_text: true }
}

pub(super) const GENES: &str = "YAL001C\nYAL002W\nYAL003W\nYBR001C\nYDL227C\n";

pub(super) const PUBLIC: [Public; 18] = [
    text("--genes", "list:genes.txt", "genes.txt", GENES),
    text("--genes", "sgd:SGD_features.tab", "SGD_features.tab", FEATURES),
    text(
        "--aliases",
        "string:aliases.txt",
        "aliases.txt",
        "#string_protein_id\talias\tsource\n4932.YAL001C\tP34111\tUniProt\n4932.YAL002W\tP39702\tUniProt\n",
    ),
    text(
        "--aliases",
        "table:names.csv,gene=gene,alias=other",
        "names.csv",
        "gene,other\nYAL001C,\"TFC3;TSV115\"\nYAL002W,VPS8\n",
    ),
    text(
        "--network",
        "string:4932.protein.links.v12.0.txt",
        "4932.protein.links.v12.0.txt",
        "protein1 protein2 combined_score\n4932.YAL001C 4932.YAL002W 500\n4932.YAL001C 4932.YAL003W 999\n",
    ),
    text(
        "--network",
        "dango:yeast_string_fusion_adjacency.txt,gene-list=names.txt",
        "yeast_string_fusion_adjacency.txt",
        "1\t2\t0.5\n2\t3\t0.25\n",
    ),
    text(
        "--network",
        "sgd:interaction_data.tab",
        "interaction_data.tab",
        "YAL001C\tTFC3\tYAL002W\tVPS8\tTwo-hybrid\tphysical interactions\tBioGRID\tmanually curated\t\t\tS1\tPMID:1\n",
    ),
    text(
        "--network",
        "biogrid:biogrid.tab3.txt",
        "biogrid.tab3.txt",
        "#Systematic Name Interactor A\tSystematic Name Interactor B\tOfficial Symbol Interactor A\tOfficial Symbol Interactor B\tExperimental System Type\tOrganism ID Interactor A\tOrganism ID Interactor B\nYAL001C\tYAL002W\tTFC3\tVPS8\tphysical\t559292\t559292\n",
    ),
    text(
        "--network",
        "tflink:tflink.tsv",
        "tflink.tsv",
        "UniprotID.TF\tUniprotID.Target\tName.TF\tName.Target\tSmall-scale.evidence\n-\t-\tYAL001C;TFC3\tYAL002W\tYes\n",
    ),
    text(
        "--network",
        "yeastract:matrix.tsv",
        "matrix.tsv",
        "x\tYAL001C\tYAL002W\nYAL003W\t0\t1\nYBR001C\t-1\t0\n",
    ),
    text(
        "--network",
        "edges:edges.csv,weight=w",
        "edges.csv",
        "source,target,w\nYAL001C,YAL002W,0.5\nYAL003W,YAL002W,1e-3\n",
    ),
    text(
        "--metabolism",
        "yeast-gem:yeast-GEM.yml",
        "yeast-GEM.yml",
        "---\n!!omap\n- metabolites:\n    - !!omap\n      - id: \"s_1\"\n      - name: \"ATP\"\n- reactions:\n    - !!omap\n      - id: \"r_1\"\n      - metabolites: !!omap\n          - s_1: -1\n      - lower_bound: -1000\n      - gene_reaction_rule: \"YAL001C and (YAL002W or YAL003W)\"\n",
    ),
    text(
        "--metabolism",
        "sbml:model.xml",
        "model.xml",
        "<?xml version=\"1.0\"?><sbml><model><listOfSpecies><species id=\"M_s1\" name=\"ATP\" compartment=\"c\"/></listOfSpecies><listOfParameters><parameter id=\"lb\" value=\"-10\"/></listOfParameters><listOfReactions><reaction id=\"R_r1\" fbc:lowerFluxBound=\"lb\"><listOfReactants><speciesReference species=\"M_s1\" stoichiometry=\"2\"/></listOfReactants><fbc:geneProductAssociation><fbc:or><fbc:geneProductRef fbc:geneProduct=\"G_YAL001C\"/><fbc:geneProductRef fbc:geneProduct=\"G_YBR001C\"/></fbc:or></fbc:geneProductAssociation></reaction></listOfReactions></model></sbml>",
    ),
    text("--screen", "kuzmin2018:kuzmin.tsv", "kuzmin.tsv", KUZMIN),
    text(
        "--screen",
        "emap:emap.tsv",
        "emap.tsv",
        "gene_a\tallele_a\tgene_b\tallele_b\ts_score\nYAL001C\tDELETION\tYAL002W\tDAMP\t-2.5\n",
    ),
    Public {
        option: "--screen",
        source: "kuzmin2020:kuzmin.xlsx",
        file: "kuzmin.xlsx",
        content: "",
        is_text: false,
    },
    Public { option: "--screen", source: "torchcell:006", file: store::FILE, content: "", is_text: false },
    text(
        "--screen",
        "matrix:matrix.csv",
        "matrix.csv",
        ";YAL001C;YAL002W\nYAL001C;;-0,5\nyal002wΔ;-0,5;n.d.\n",
    ),
];

const FEATURES: &str = "S000000001\tORF\tVerified\tYAL001C\tTFC3\tTSV115|FUN24\tchromosome 1\t\t1\t151166\t147594\tC\t\t\t\t\n\
S000000002\tORF\tVerified\tYAL002W\tVPS8\t\tchromosome 1\t\t1\t143707\t147531\tW\t\t\t\t\n";

const KUZMIN: &str = "Query strain ID\tQuery allele name\tArray strain ID\tArray allele name\tCombined mutant type\t\
Raw genetic interaction score (epsilon)\tAdjusted genetic interaction score (epsilon or tau)\tP-value\t\
Query single/double mutant fitness\tArray single mutant fitness\tCombined mutant fitness\t\
Combined mutant fitness standard deviation\n\
YAL001C+YDL227C_tm1\ttfc3Δ+hoΔ\tYBR001C_dma1\tnth2Δ\tdigenic\t0.1\t0.1\t0.5\t\t0.9\t0.9\t0.1\n\
YAL001C+YAL002W_tm2\ttfc3Δ+vps8Δ\tYBR001C_dma1\tnth2Δ\ttrigenic\t0.1\t-0.25\t0.01\t0.9\t0.9\t0.5\t0.04\n";

/// Writes the table as a workbook.
fn sheet(table: &str) -> Vec<u8> {
    let mut rows = String::new();
    for (row, line) in table.lines().enumerate() {
        write!(rows, "<row r=\"{}\">", row + 1).ok();
        for (column, cell) in line.split('\t').enumerate() {
            let place = char::from(b'A' + column as u8);
            write!(rows, "<c r=\"{place}{}\" t=\"inlineStr\"><is><t>{cell}</t></is></c>", row + 1).ok();
        }
        rows.push_str("</row>");
    }
    workbook(&[(&rows, "")], 0).unwrap_or_default()
}
