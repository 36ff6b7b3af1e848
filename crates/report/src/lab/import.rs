//! Imports: what was read from each source, and what was left out.

use crate::page::Page;
use crate::units::{count, counted, have};
use knockout_sources::import::altered::{ADVICE, LooksLike};
use knockout_sources::import::report::{ImportReport, NameKinds, RowReport};
use knockout_sources::import::screens::Merged;
use std::path::Path;

/// Returns sentences about rows left out, one for each source and reason.
pub fn import_remarks(report: &ImportReport) -> Vec<String> {
    let mut files: Vec<(&str, &RowReport)> = Vec::new();
    files.extend(report.networks.iter().map(|network| (network.file.as_str(), &network.rows)));
    files.extend(report.metabolism.iter().map(|model| (model.file.as_str(), &model.alternatives)));
    files.extend(report.screens.iter().map(|screen| (screen.file.as_str(), &screen.rows)));
    files.dedup_by_key(|(file, _)| *file);
    let mut lines = Vec::new();
    for source in &report.gene_sources {
        let names: Vec<(&str, LooksLike)> =
            source.altered_names.iter().map(|(name, look)| (name.as_str(), *look)).collect();
        if !names.is_empty() {
            let named = altered_names(&names);
            lines.push(format!("{}: names that look like {named} are taken as genes; {ADVICE}", source.file));
        }
    }
    let kinds = report
        .gene_sources
        .iter()
        .filter_map(|source| Some((source.file.as_str(), source.name_kinds.as_ref()?)));
    lines.extend(kinds.flat_map(|(file, kinds)| name_remarks(file, kinds)));
    for (file, rows) in files {
        if rows.unknown_gene > 0 {
            lines.push(format!(
                "{file}: {} with genes not in the table, e.g. {}; --genes or --aliases can add them",
                counted(rows.unknown_gene, "row"),
                rows.examples.join(", ")
            ));
        }
        let names: Vec<(&str, LooksLike)> = rows
            .unknown_names
            .iter()
            .filter_map(|(name, unknown)| unknown.looks_like.map(|look| (name.as_str(), look)))
            .collect();
        if !names.is_empty() {
            let named = altered_names(&names);
            lines.push(format!("{file}: of the names not in the table, some look like {named}; {ADVICE}"));
        }
        lines.extend(skipped(file, rows));
    }
    // Genes outside the table need no remark here: a genome's annotations have many.
    lines.extend(report.annotations.iter().flat_map(|set| skipped(&set.file, &set.rows)));
    lines
}

/// Remarks about names that only a gene table can settle.
fn name_remarks(file: &str, kinds: &NameKinds) -> Vec<String> {
    let mut lines = Vec::new();
    if kinds.are_mixed() {
        lines.push(format!(
            "warning: {file}: {} systematic and {} other names (e.g. {}) without a gene table: a gene under both counts as two; \
             --genes sgd:SGD_features.tab resolves them",
            count(kinds.systematic),
            count(kinds.other),
            kinds.examples.join(", ")
        ));
    }
    if !kinds.allele_like.is_empty() {
        let examples: Vec<&str> = kinds.allele_like.iter().take(3).map(String::as_str).collect();
        lines.push(format!(
            "warning: {file}: taken as genes: {} in the form of an allele (e.g. {}); --genes sgd:SGD_features.tab \
             assigns alleles to their genes",
            counted(kinds.allele_like.len(), "name"),
            examples.join(", ")
        ));
    }
    lines
}

/// Rows left out for other reasons than their genes, a line per reason.
fn skipped(file: &str, rows: &RowReport) -> Vec<String> {
    let line = |(reason, skipped): (&String, &u64)| {
        let rows = if *skipped == 1 { "row" } else { "rows" };
        format!("{file}: {} {rows} left out: {reason}", count(*skipped))
    };
    rows.skipped.iter().map(line).collect()
}

/// Kinds of names, with counts and examples.
fn altered_names(names: &[(&str, LooksLike)]) -> String {
    let mut kinds: Vec<LooksLike> = names.iter().map(|(_, look)| *look).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = kinds.into_iter().map(|kind| {
        let of_kind: Vec<&str> =
            names.iter().filter(|(_, look)| *look == kind).map(|(name, _)| *name).collect();
        let examples: Vec<String> = of_kind.iter().take(3).map(|name| format!("{name:?}")).collect();
        format!("{} ({}: {})", kind.plural(), count(of_kind.len()), examples.join(", "))
    });
    kinds.collect::<Vec<_>>().join(", ")
}

/// Returns the page of an import into the folder `out`.
pub fn import_page(report: &ImportReport, out: &Path) -> Page {
    let out = out.display();
    let (genes, names) = (counted(report.genes, "gene"), counted(report.names, "name"));
    let headline = format!("{out}: {genes} under {names}");
    let mut lines = source_lines(report);
    lines.extend(sample_lines(report));
    let is_empty = report.samples.count == 0;
    Page {
        title: format!("Import into {out}"),
        made_by: "knockout data import".to_owned(),
        findings: [headline].into_iter().chain(lines).collect(),
        next: if is_empty { Vec::new() } else { vec![format!("`knockout data show {out}`")] },
        ..Page::default()
    }
}

fn source_lines(report: &ImportReport) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |text: String| lines.push(text);
    for network in &report.networks {
        let counts = &network.counts;
        line(format!(
            "  network {}: {}{} on {} ({} dropped)",
            network.name,
            counted(counts.entries, "edge"),
            if counts.entries == counts.edges {
                String::new()
            } else {
                format!(", both directions of {} undirected ones,", count(counts.edges))
            },
            counted(counts.nodes, "gene"),
            counted(counts.self_loops, "self-loop")
        ));
    }
    if let Some(model) = &report.metabolism {
        line(format!(
            "  metabolism: {}, {}, {} gene-reaction and {} reaction-metabolite entries",
            counted(model.reactions, "reaction"),
            counted(model.metabolites, "metabolite"),
            count(model.gpr),
            count(model.stoichiometry)
        ));
    }
    for features in &report.features {
        line(format!(
            "  features {}: {} of numbers for {}",
            features.file,
            counted(features.columns, "column"),
            counted(features.genes, "gene")
        ));
    }
    for set in &report.annotations {
        line(format!(
            "  annotations {}: {} of {}, {} ({} with too few genes and {} with too many left out)",
            set.name,
            counted(set.terms, "term"),
            counted(set.genes, "gene"),
            counted(set.pairs, "pair"),
            counted(set.terms_too_small, "term"),
            count(set.terms_too_large)
        ));
    }
    for screen in &report.screens {
        line(format!(
            "  screen {}: {} of {}{}",
            screen.source,
            count(screen.measurements),
            counted(screen.rows.read, "row"),
            if screen.allele_names == 0 {
                String::new()
            } else {
                format!(", {} with an allele in the name of a gene", count(screen.allele_names))
            }
        ));
    }
    lines
}

/// Describes the measurements that joined an earlier one.
fn merged(merged: Merged) -> String {
    let Merged { same_alleles, other_alleles, unstated_alleles, .. } = merged;
    let total = merged.total();
    if other_alleles == 0 && unstated_alleles == 0 {
        return format!("{} merged", counted(total, "repeat"));
    }
    let parts = [
        (same_alleles, "of the same alleles"),
        (other_alleles, "of other alleles of the same genes"),
        (unstated_alleles, "of alleles that are not stated"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(measurements, _)| *measurements > 0)
        .map(|(measurements, what)| format!("{} {what}", count(measurements)))
        .collect();
    format!("{} merged into others: {}", counted(total, "measurement"), parts.join(", "))
}

fn sample_lines(report: &ImportReport) -> Vec<String> {
    let samples = &report.samples;
    if samples.count == 0 {
        return vec!["  no samples: no screen was given, so there is nothing to train on".to_owned()];
    }
    let orders: Vec<String> = samples
        .orders
        .iter()
        .map(|(order, samples)| format!("{} of {}", count(*samples), counted(*order, "gene")))
        .collect();
    let kinds: Vec<String> =
        samples.kinds.iter().map(|(kind, samples)| format!("{kind} {}", count(*samples))).collect();
    let mut lines = vec![format!(
        "  {} ({}; {}), {}",
        counted(samples.count, "sample"),
        orders.join(", "),
        kinds.join(", "),
        merged(samples.merged_by_alleles)
    )];
    let merged = samples.merged_by_alleles;
    if merged.are_copies() {
        lines.push(format!(
            "  warning: {} of them have the score of the earlier one: they look like copies, such as pairs written in both directions, and tell \
             nothing about the error of a score",
            count(merged.copies)
        ));
    }
    if samples.of_several_alleles > 0 {
        let several = count(samples.of_several_alleles);
        lines.push(format!("  {several} of them have the mean score of different alleles of the same genes"));
    }
    if samples.sets_with_several_samples > 0 {
        let several = samples.sets_with_several_samples;
        let (sets, have) = (counted(several, "gene set"), have(several));
        lines.push(format!("  {sets} {have} several samples, of different alleles or kinds"));
    }
    for split in &report.splits {
        let [train, val, test] = split.parts.map(count);
        lines.push(format!("  split {}: {train} train, {val} val, {test} test", split.name));
    }
    lines
}
