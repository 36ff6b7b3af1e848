//! Each part of a dataset as a table, and each table as that part: the two directions side by side.

use super::columns::{self, Table};
use super::error::DatasetErrorKind;
use crate::{Sample, Samples, SamplesBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use knockout_cell::{
    Coefficient, Direction, Edge, Features, Gene, GeneTable, Metabolism, Metabolite, Network, Reaction,
    Requirement, SelfLoops,
};
use std::sync::Arc;

type Decoded<T> = Result<T, DatasetErrorKind>;

fn table(columns: Vec<(&str, DataType, bool, ArrayRef)>) -> Decoded<RecordBatch> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(name, kind, is_nullable, array)| (Field::new(name, kind, is_nullable), array))
        .unzip();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(columns::ColumnError::from)?)
}

/// A text column that must have a value in every row.
fn required(table: &Table, name: &str) -> Decoded<Vec<String>> {
    let values = table.strings(name)?.into_iter().enumerate();
    let null = |row| columns::ColumnError::Null { name: name.to_owned(), row };
    Ok(values.map(|(row, value)| value.ok_or_else(|| null(row))).collect::<Result<_, _>>()?)
}

pub(super) fn genes_to_table(genes: &GeneTable) -> Decoded<RecordBatch> {
    let genes = genes.genes();
    table(vec![
        (
            "systematic",
            DataType::Utf8,
            false,
            columns::strings(genes.iter().map(|gene| Some(&*gene.systematic))),
        ),
        (
            "standard",
            DataType::Utf8,
            true,
            columns::strings(genes.iter().map(|gene| gene.standard.as_deref())),
        ),
    ])
}

pub(super) fn genes_from_table(table: &Table) -> Decoded<GeneTable> {
    let systematic = required(table, "systematic")?.into_iter();
    let genes = systematic
        .zip(table.strings("standard")?)
        .map(|(systematic, standard)| Gene { systematic, standard })
        .collect();
    Ok(GeneTable::new(genes)?)
}

/// The column of `features.parquet` that says whose features a row has; the others are features.
const GENE: &str = "systematic";

pub(super) fn features_to_table(features: &Features, genes: &GeneTable) -> Decoded<RecordBatch> {
    let names = columns::strings(genes.genes().iter().map(|gene| Some(&*gene.systematic)));
    let mut all = vec![(GENE, DataType::Utf8, false, names)];
    for (column, name) in features.names().iter().enumerate() {
        if name == GENE {
            return Err(DatasetErrorKind::FeatureName { name: name.clone() });
        }
        all.push((name, DataType::Float32, true, columns::known_f32s(features.column(column))));
    }
    table(all)
}

pub(super) fn features_from_table(table: &Table, genes: &GeneTable) -> Decoded<Features> {
    for (row, (name, gene)) in required(table, GENE)?.iter().zip(genes.genes()).enumerate() {
        if *name != gene.systematic {
            return Err(DatasetErrorKind::OtherGene {
                row,
                found: name.clone(),
                expected: gene.systematic.clone(),
            });
        }
    }
    let names: Vec<String> = table.names().filter(|&name| name != GENE).map(str::to_owned).collect();
    let mut values = vec![f32::NAN; table.row_count() * names.len()];
    for (column, name) in names.iter().enumerate() {
        for (row, value) in table.known_f32s(name)?.into_iter().enumerate() {
            values[row * names.len() + column] = value;
        }
    }
    Ok(Features::new(genes.len(), names, values)?)
}

pub(super) fn network_to_table(network: &Network) -> Decoded<RecordBatch> {
    table(vec![
        ("source", DataType::UInt32, false, columns::u32s(network.sources().iter().copied())),
        ("target", DataType::UInt32, false, columns::u32s(network.targets().iter().copied())),
        ("weight", DataType::Float32, false, columns::f32s(network.weights().iter().copied())),
    ])
}

pub(super) fn network_from_table(table: &Table, name: &str, gene_count: usize) -> Decoded<Network> {
    let ends = table.u32s("source")?.into_iter().zip(table.u32s("target")?);
    let edges = ends
        .zip(table.f32s("weight")?)
        .map(|((source, target), weight)| Edge { source, target, weight })
        .collect();
    Ok(Network::from_edges(name, gene_count, edges, SelfLoops::Refuse)?.0)
}

/// The four tables of metabolism, by file name.
pub(super) const METABOLISM: [&str; 4] = ["reactions", "metabolites", "requirements", "coefficients"];

pub(super) fn metabolism_to_tables(metabolism: &Metabolism) -> Decoded<[RecordBatch; 4]> {
    let reactions = metabolism.reactions();
    let metabolites = metabolism.metabolites();
    let requirements = metabolism.requirements();
    let coefficients = metabolism.coefficients();
    let direction = |reaction: &Reaction| match reaction.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    };
    Ok([
        table(vec![
            ("name", DataType::Utf8, false, columns::strings(reactions.iter().map(|r| Some(&*r.name)))),
            (
                "reaction_id",
                DataType::Utf8,
                false,
                columns::strings(reactions.iter().map(|r| Some(&*r.reaction_id))),
            ),
            ("direction", columns::words_type(), false, columns::words(reactions.iter().map(direction))),
            (
                "subsystem",
                columns::words_type(),
                false,
                columns::words(reactions.iter().map(|r| &*r.subsystem)),
            ),
        ])?,
        table(vec![
            ("id", DataType::Utf8, false, columns::strings(metabolites.iter().map(|m| Some(&*m.id)))),
            ("name", DataType::Utf8, false, columns::strings(metabolites.iter().map(|m| Some(&*m.name)))),
            (
                "compartment",
                columns::words_type(),
                false,
                columns::words(metabolites.iter().map(|m| &*m.compartment)),
            ),
        ])?,
        table(vec![
            ("reaction", DataType::UInt32, false, columns::u32s(requirements.iter().map(|r| r.reaction))),
            ("gene", DataType::UInt32, false, columns::u32s(requirements.iter().map(|r| r.gene))),
        ])?,
        table(vec![
            ("reaction", DataType::UInt32, false, columns::u32s(coefficients.iter().map(|c| c.reaction))),
            ("metabolite", DataType::UInt32, false, columns::u32s(coefficients.iter().map(|c| c.metabolite))),
            ("value", DataType::Float64, false, columns::f64s(coefficients.iter().map(|c| Some(c.value)))),
        ])?,
    ])
}

pub(super) fn metabolism_from_tables(tables: &[Table; 4], gene_count: usize) -> Decoded<Metabolism> {
    let [reactions, metabolites, requirements, coefficients] = tables;
    let names = required(reactions, "name")?.into_iter().zip(required(reactions, "reaction_id")?);
    let (directions, subsystems) = (reactions.words("direction")?, reactions.words("subsystem")?);
    let direction = |row| match directions.get(row) {
        "forward" => Ok(Direction::Forward),
        "reverse" => Ok(Direction::Reverse),
        other => Err(DatasetErrorKind::BadWord {
            row,
            column: "direction",
            found: other.to_owned(),
            expected: "forward or reverse",
        }),
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
        .collect::<Decoded<Vec<_>>>()?;
    let compartments = metabolites.words("compartment")?;
    let metabolites = required(metabolites, "id")?
        .into_iter()
        .zip(required(metabolites, "name")?)
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
    Ok(Metabolism::new(gene_count, reactions, metabolites, requirements, coefficients)?)
}

pub(super) fn samples_to_table(samples: &Samples) -> Decoded<RecordBatch> {
    let rows = || samples.iter();
    table(vec![
        ("genes", columns::list_type(), false, columns::lists(rows().map(|row| row.genes))),
        ("score", DataType::Float64, false, columns::f64s(rows().map(|row| Some(row.score)))),
        ("p_value", DataType::Float64, true, columns::f64s(rows().map(|row| row.p_value))),
        ("query", columns::list_type(), true, columns::lists(rows().map(|row| row.query))),
        ("kind", columns::words_type(), false, columns::words(rows().map(|row| row.kind))),
        ("fitness", DataType::Float64, true, columns::f64s(rows().map(|row| row.fitness))),
        ("fitness_sd", DataType::Float64, true, columns::f64s(rows().map(|row| row.fitness_sd))),
        ("source", columns::words_type(), false, columns::words(rows().map(|row| row.source))),
        ("duplicates", DataType::UInt32, false, columns::u32s(rows().map(|row| row.duplicates))),
    ])
}

pub(super) fn samples_from_table(table: &Table, gene_count: usize) -> Decoded<Samples> {
    let (gene_offsets, genes) = table.lists("genes")?;
    let (query_offsets, queries) = table.lists("query")?;
    let scores = table.f64s("score")?;
    let p_values = table.optional_f64s("p_value")?;
    let fitness = table.optional_f64s("fitness")?;
    let fitness_sd = table.optional_f64s("fitness_sd")?;
    let (kinds, sources) = (table.words("kind")?, table.words("source")?);
    let duplicates = table.u32s("duplicates")?;
    let mut builder = SamplesBuilder::new(gene_count);
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
            })
            .map_err(|source| DatasetErrorKind::Sample { row, source })?;
    }
    Ok(builder.finish())
}
