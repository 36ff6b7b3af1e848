//! Each part of a dataset as a table, and each table as that part: the two directions side by side.

use crate::cell::{
    Annotations, Coefficient, Direction, Edge, Features, Gene, GenePosition, GenePositions, GeneTable,
    Metabolism, Metabolite, Network, Reaction, Requirement, SelfLoops,
};
use crate::screen::{Allele, AlleleTable, Sample, Samples, SamplesBuilder};
use crate::table::{Columns, ParquetTable};
use knockout_base::error::{Context as _, Error, Result};
use std::collections::BTreeMap;

pub(super) fn genes_to_table<'a>(genes: &'a GeneTable, positions: Option<&'a GenePositions>) -> Columns<'a> {
    let genes = genes.genes();
    let table = Columns::new(genes.len())
        .texts("systematic", |row| &genes[row].systematic)
        .optional_texts("standard", |row| genes[row].standard.as_deref());
    match positions {
        None => table,
        Some(positions) => table
            .optional_texts(CHROMOSOME, move |row| {
                positions.get(row).map(|position| &position.chromosome[..])
            })
            .optional_u32s("start", move |row| positions.get(row).map(|position| position.start))
            .optional_u32s("stop", move |row| positions.get(row).map(|position| position.stop)),
    }
}

/// The column of chromosomes, which datasets without positions lack.
const CHROMOSOME: &str = "chromosome";

/// Reads the positions of genes, where the table has them.
pub(super) fn positions_from_table(table: &ParquetTable) -> Result<Option<GenePositions>> {
    if !table.has(CHROMOSOME) {
        return Ok(None);
    }
    let ends = table.optional_u32s("start")?.into_iter().zip(table.optional_u32s("stop")?);
    let positions = table.optional_texts(CHROMOSOME)?.into_iter().zip(ends);
    let position = |(chromosome, (start, stop)): (Option<String>, (Option<u32>, Option<u32>))| {
        Some(GenePosition { chromosome: chromosome?, start: start?, stop: stop? })
    };
    Ok(GenePositions::new(positions.map(position).collect()))
}

pub(super) fn genes_from_table(table: &ParquetTable) -> Result<GeneTable> {
    let systematic = table.texts("systematic")?.into_iter();
    let genes = systematic
        .zip(table.optional_texts("standard")?)
        .map(|(systematic, standard)| Gene { systematic, standard })
        .collect();
    GeneTable::new(genes)
}

/// The file of content features.
pub(super) const FEATURES: &str = "features.parquet";

/// The column of `features.parquet` with the gene of each row; the others are features.
const GENE: &str = "systematic";

pub(super) fn features_to_table<'a>(features: &'a Features, genes: &'a GeneTable) -> Result<Columns<'a>> {
    let genes = genes.genes();
    let mut table = Columns::new(genes.len()).texts(GENE, |row| &genes[row].systematic);
    for (column, name) in features.names().iter().enumerate() {
        if name == GENE {
            return Err(Error::request(format!(
                "a feature cannot be called {name:?}, which is the column of the genes: rename it"
            )));
        }
        table = table.optional_f32s(name, move |row| features.get(row, column));
    }
    Ok(table)
}

pub(super) fn features_from_table(table: &ParquetTable, genes: &GeneTable) -> Result<Features> {
    for (row, (name, gene)) in table.texts(GENE)?.iter().zip(genes.genes()).enumerate() {
        if *name != gene.systematic {
            let expected = &gene.systematic;
            return Err(Error::damage(format!(
                "row {row} has the features of {name:?}, and gene {row} is {expected:?}; rebuild the dataset"
            )));
        }
    }
    let names: Vec<String> = table.names().filter(|&name| name != GENE).map(str::to_owned).collect();
    let mut values = vec![f32::NAN; table.row_count() * names.len()];
    for (column, name) in names.iter().enumerate() {
        for (row, value) in table.optional_f32s(name)?.into_iter().enumerate() {
            values[row * names.len() + column] = value.unwrap_or(f32::NAN);
        }
    }
    Features::new(genes.len(), names, values)
}

pub(super) fn annotations_to_table(annotations: &Annotations) -> Columns<'_> {
    let (genes, terms): (Vec<u32>, Vec<u32>) = annotations.pairs().unzip();
    let texts = annotations.terms();
    Columns::new(genes.len())
        .u32s("gene", move |row| genes[row])
        .texts("term", move |row| &texts[terms[row] as usize])
}

pub(super) fn annotations_from_table(
    table: &ParquetTable,
    name: &str,
    gene_count: usize,
) -> Result<Annotations> {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut pairs = Vec::with_capacity(table.row_count());
    for (gene, term) in table.u32s("gene")?.into_iter().zip(table.texts("term")?) {
        // No more terms than rows, whose number fits.
        let next = numbers.len() as u32;
        pairs.push((gene, *numbers.entry(term).or_insert(next)));
    }
    let mut terms = vec![String::new(); numbers.len()];
    for (term, number) in numbers {
        terms[number as usize] = term;
    }
    let annotations = Annotations::new(name, gene_count, terms, pairs)?;
    let (expected, found) = (table.row_count(), annotations.pair_count());
    if expected != found {
        let repeated = expected - found;
        return Err(Error::damage(format!("{repeated} rows repeat others; rebuild the dataset")));
    }
    Ok(annotations)
}

pub(super) fn network_to_table(network: &Network) -> Columns<'_> {
    let (sources, targets, weights) = (network.sources(), network.targets(), network.weights());
    Columns::new(sources.len())
        .u32s("source", move |row| sources[row])
        .u32s("target", |row| targets[row])
        .f32s("weight", |row| weights[row])
}

pub(super) fn network_from_table(table: &ParquetTable, name: &str, gene_count: usize) -> Result<Network> {
    let ends = table.u32s("source")?.into_iter().zip(table.u32s("target")?);
    let edges = ends
        .zip(table.f32s("weight")?)
        .map(|((source, target), weight)| Edge { source, target, weight })
        .collect();
    Ok(Network::from_edges(name, gene_count, edges, SelfLoops::Refuse)?.0)
}

/// The four tables of metabolism, by file name.
pub(super) const METABOLISM: [&str; 4] = ["reactions", "metabolites", "requirements", "coefficients"];

pub(super) fn metabolism_to_tables(metabolism: &Metabolism) -> [Columns<'_>; 4] {
    let reactions = metabolism.reactions();
    let metabolites = metabolism.metabolites();
    let requirements = metabolism.requirements();
    let coefficients = metabolism.coefficients();
    let direction = |reaction: &Reaction| match reaction.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    };
    [
        Columns::new(reactions.len())
            .texts("name", |row| &reactions[row].name)
            .texts("reaction_id", |row| &reactions[row].reaction_id)
            .words("direction", move |row| direction(&reactions[row]))
            .words("subsystem", |row| &reactions[row].subsystem),
        Columns::new(metabolites.len())
            .texts("id", |row| &metabolites[row].id)
            .texts("name", |row| &metabolites[row].name)
            .words("compartment", |row| &metabolites[row].compartment),
        Columns::new(requirements.len())
            .u32s("reaction", |row| requirements[row].reaction)
            .u32s("gene", |row| requirements[row].gene),
        Columns::new(coefficients.len())
            .u32s("reaction", |row| coefficients[row].reaction)
            .u32s("metabolite", |row| coefficients[row].metabolite)
            .f64s("value", |row| coefficients[row].value),
    ]
}

pub(super) fn metabolism_from_tables(tables: &[ParquetTable; 4], gene_count: usize) -> Result<Metabolism> {
    let [reactions, metabolites, requirements, coefficients] = tables;
    let names = reactions.texts("name")?.into_iter().zip(reactions.texts("reaction_id")?);
    let (directions, subsystems) = (reactions.words("direction")?, reactions.words("subsystem")?);
    let direction = |row| match directions.get(row) {
        "forward" => Ok(Direction::Forward),
        "reverse" => Ok(Direction::Reverse),
        other => Err(Error::damage(format!(
            "row {row} of column \"direction\" is {other:?}; expected forward or reverse"
        ))),
    };
    let reactions = names
        .enumerate()
        .map(|(row, (name, reaction_id))| {
            Ok(Reaction {
                name,
                reaction_id,
                direction: direction(row)?,
                subsystem: subsystems.get(row).to_owned(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let compartments = metabolites.words("compartment")?;
    let metabolites = metabolites
        .texts("id")?
        .into_iter()
        .zip(metabolites.texts("name")?)
        .enumerate()
        .map(|(row, (id, name))| Metabolite { id, name, compartment: compartments.get(row).to_owned() })
        .collect();
    let requirements = requirements
        .u32s("reaction")?
        .into_iter()
        .zip(requirements.u32s("gene")?)
        .map(|(reaction, gene)| Requirement { reaction, gene })
        .collect();
    let ends = coefficients.u32s("reaction")?.into_iter().zip(coefficients.u32s("metabolite")?);
    let coefficients = ends
        .zip(coefficients.f64s("value")?)
        .map(|((reaction, metabolite), value)| Coefficient { reaction, metabolite, value })
        .collect();
    Metabolism::new(gene_count, reactions, metabolites, requirements, coefficients)
}

/// The file of the alleles, which datasets without stored alleles lack.
pub(super) const ALLELES: &str = "alleles.parquet";

/// The column of `samples.parquet` with the alleles of each sample.
const ALLELES_OF_SAMPLE: &str = "alleles";

pub(super) fn alleles_to_table(alleles: &AlleleTable) -> Columns<'_> {
    let alleles = alleles.alleles();
    Columns::new(alleles.len())
        .u32s("gene", |row| alleles[row].gene)
        .words("kind", |row| &alleles[row].kind)
        .optional_texts("name", |row| alleles[row].name.as_deref())
}

pub(super) fn alleles_from_table(table: &ParquetTable) -> Result<AlleleTable> {
    let kinds = table.words("kind")?;
    let named = table.u32s("gene")?.into_iter().zip(table.optional_texts("name")?).enumerate();
    AlleleTable::new(
        named.map(|(row, (gene, name))| Allele { gene, kind: kinds.get(row).to_owned(), name }).collect(),
    )
}

pub(super) fn samples_to_table(samples: &Samples) -> Columns<'_> {
    let table = Columns::new(samples.len())
        .lists("genes", |row| samples.get(row).genes)
        .f64s("score", |row| samples.get(row).score)
        .optional_f64s("p_value", |row| samples.get(row).p_value)
        .optional_lists("query", |row| samples.get(row).query)
        .words("kind", |row| samples.get(row).kind)
        .optional_f64s("fitness", |row| samples.get(row).fitness)
        .optional_f64s("fitness_sd", |row| samples.get(row).fitness_sd)
        .words("source", |row| samples.get(row).source)
        .u32s("duplicates", |row| samples.get(row).duplicates);
    if samples.has_alleles() {
        table.optional_lists(ALLELES_OF_SAMPLE, |row| samples.get(row).alleles)
    } else {
        table
    }
}

pub(super) fn samples_from_table(
    table: &ParquetTable,
    gene_count: usize,
    alleles: AlleleTable,
) -> Result<Samples> {
    let (gene_offsets, genes) = table.lists("genes")?;
    let (query_offsets, queries) = table.lists("query")?;
    let scores = table.f64s("score")?;
    let p_values = table.optional_f64s("p_value")?;
    let fitness = table.optional_f64s("fitness")?;
    let fitness_sd = table.optional_f64s("fitness_sd")?;
    let (kinds, sources) = (table.words("kind")?, table.words("source")?);
    let duplicates = table.u32s("duplicates")?;
    let (allele_offsets, allele_rows) = if table.has(ALLELES_OF_SAMPLE) {
        table.lists(ALLELES_OF_SAMPLE)?
    } else {
        (vec![0; table.row_count() + 1], Vec::new())
    };
    let mut builder = SamplesBuilder::new(gene_count).with_allele_table(alleles)?;
    let list = |offsets: &[u32], row: usize| offsets[row] as usize..offsets[row + 1] as usize;
    for row in 0..table.row_count() {
        builder
            .push(Sample {
                genes: &genes[list(&gene_offsets, row)],
                score: scores[row],
                p_value: p_values.get(row),
                query: &queries[list(&query_offsets, row)],
                kind: kinds.get(row),
                fitness: fitness.get(row),
                fitness_sd: fitness_sd.get(row),
                source: sources.get(row),
                duplicates: duplicates[row],
                alleles: &allele_rows[list(&allele_offsets, row)],
            })
            .while_doing(|| format!("row {row}"))?;
    }
    Ok(builder.finish())
}
