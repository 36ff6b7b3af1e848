//! A measured run and a comparison of runs as pages: phases, steps, memory, layers, the flame graph, conditions.

use crate::compare::{TimedUnit, changes, differences, headline, rows_section, title};
use crate::functions;
use crate::page::{Bar, Column, Fact, Medium, Page, Section, Table, TableCell, colour};
use crate::picture;
use crate::sentence::{measured_text, reads_not_counted, run_comparison_warning, run_finding, run_warning};
use crate::units::{bytes, count, counted, percent, rate, si, time};
use knockout_analyze::Analysis;
use knockout_analyze::profile::{CountedReads, MemoryReads, PhaseRow, RunComparison, RunProfile};
use std::fmt::Write as _;

/// Sentence at the end of pages of runs.
const FOOTNOTE: &str = "Phases of a step sum to its wall time; time in no phase is called untracked.";

/// Formats seconds with a fitting unit.
pub(crate) fn seconds(value: f64) -> String {
    time(value * 1e6)
}

/// Renders the findings of a run as text.
pub fn run_text(profile: &RunProfile) -> String {
    let mut out = format!(
        "{} measured ({} of warm-up and {} outside the window left out), {}\n\
         {} per step (median {}, middle half {} to {}), {} of CPU time\n\
         {} per sample, {} samples/s\n",
        counted(profile.steps, "step"),
        count(profile.warmed),
        count(profile.skipped),
        counted(profile.samples, "sample"),
        seconds(profile.wall_s_per_step),
        seconds(profile.step.median_s),
        seconds(profile.step.low_quartile_s),
        seconds(profile.step.high_quartile_s),
        seconds(profile.cpu_s_per_step),
        seconds(profile.wall_s_per_sample),
        rate(profile.samples_per_s),
    );
    if let Some(measured) = &profile.measured {
        writeln!(out, "measured {}", measured_text(measured)).ok();
    }
    for finding in &profile.findings {
        writeln!(out, "- {}", run_finding(finding)).ok();
    }
    out + &page(profile, None, None).sections_to_text()
}

/// Renders a run as one HTML file; `recorded` is the analysis of its trace, if there is one.
pub fn run_html(
    profile: &RunProfile,
    recorded: Option<&Analysis>,
    comparison: Option<&RunComparison>,
) -> String {
    page(profile, recorded, comparison).to_html()
}

fn page(profile: &RunProfile, recorded: Option<&Analysis>, comparison: Option<&RunComparison>) -> Page {
    let title = match profile.model.as_str() {
        "" => profile.mode.clone(),
        model => format!("{model}, {}", profile.mode),
    };
    let measured = profile.measured.as_ref().map(|measured| format!(" · {}", measured_text(measured)));
    let subtitle = format!(
        "batch {} · {} · {} measured · {}{}",
        count(profile.batch),
        counted(profile.threads, "thread"),
        counted(profile.steps, "step"),
        profile.conditions.machine,
        measured.unwrap_or_default()
    );
    let mut sections = run_sections(profile, recorded, "", "");
    if let Some(comparison) = comparison {
        let note = format!("a: {} · b: {} · ratios are b / a", comparison.a, comparison.b);
        let headline = comparison_headline(comparison);
        sections.push(Section::new("comparison", "Compared with another run").note(note).with(headline));
        sections.extend(comparison_sections(comparison, "comparison-"));
    }
    let conditions = profile.conditions.entries().into_iter().map(|(name, value)| (name.to_owned(), value));
    sections.push(conditions_section(conditions));
    Page {
        title,
        subtitle,
        made_by: "knockout profile".to_owned(),
        footnote: FOOTNOTE.to_owned(),
        facts: facts(profile),
        findings: profile.findings.iter().map(run_finding).collect(),
        warnings: profile.warnings.iter().map(run_warning).collect(),
        sections,
        ..Page::default()
    }
}

/// Returns the section of conditions that have a value.
pub(crate) fn conditions_section(entries: impl Iterator<Item = (String, String)>) -> Section {
    let rows = entries.filter(|(_, value)| !value.is_empty()).map(|(name, value)| [name, value]);
    let table = Table::new(["", ""].map(Column::text)).id("condition-table").with_rows(rows);
    let note = "Figures hold under these, and are compared only with figures under the same.";
    Section::new("conditions", "Conditions").note(note).with(table)
}

fn facts(profile: &RunProfile) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("a step", seconds(profile.wall_s_per_step)),
        Fact::new("median step", seconds(profile.step.median_s)),
        Fact::new("CPU time of a step", seconds(profile.cpu_s_per_step)),
        Fact::new("a sample", seconds(profile.wall_s_per_sample)),
        Fact::new("samples per second", rate(profile.samples_per_s)),
    ];
    facts.extend(profile.peak_rss_bytes.map(|peak| Fact::new("peak memory", bytes(peak))));
    facts.extend(profile.pool_bytes.map(|pool| Fact::new("of it in buffers", bytes(pool))));
    facts
}

/// Returns the sections of one run. Their ids begin with `prefix`; their headings end with `name`.
pub(crate) fn run_sections(
    profile: &RunProfile,
    recorded: Option<&Analysis>,
    prefix: &str,
    name: &str,
) -> Vec<Section> {
    let of = if name.is_empty() { String::new() } else { format!(", {name}") };
    let id = |own: &str| format!("{prefix}{own}");
    let phases = format!(
        "Mean wall time over {}; the phases sum to the step. The line is the middle half of the steps.",
        counted(profile.steps, "step")
    );
    let mut sections = vec![
        Section::new(id("phases"), format!("Phases of a step{of}"))
            .note(phases)
            .with(phase_table(&profile.phases)),
    ];
    sections.extend(products(profile, &of, &id("products")));
    sections.extend(memory_reads(profile, &of, &id("reads")));
    if !profile.background.is_empty() {
        let note = "Beside the step's time, not part of it.";
        let section = Section::new(id("background"), format!("Threads that work ahead{of}")).note(note);
        sections.push(section.with(phase_table(&profile.background)));
    }
    let note =
        "Length of each step, coloured by phase; the dashed line is the median. Click a step for its parts.";
    let steps = Section::new(id("steps"), format!("Steps{of}")).note(note).only(Medium::Html);
    sections.push(steps.with(picture::run_steps(profile, id("step"))));
    sections.extend(memory(profile, &of, &id("memory")));
    if !profile.parts.is_empty() {
        let mut parts = profile.parts.clone();
        parts.sort_by(|a, b| b.wall_s.total_cmp(&a.wall_s));
        let parts = phase_table(&parts).id(id("part-table")).limited(20, 15);
        let section = Section::new(id("parts"), format!("Layers and terms{of}"));
        sections.push(section.note("Inside the time of the phases, the longest first.").with(parts));
    }
    if let Some(found) = &profile.functions {
        sections.extend(functions::sections(found, &id("functions"), &of));
    }
    sections
        .extend(recorded.and_then(|trace| picture::flame(trace, &format!("Flame graph{of}"), &id("flame"))));
    sections
}

/// Returns the section of the phases that multiply matrices.
fn products(profile: &RunProfile, of: &str, id: &str) -> Option<Section> {
    let rows = || profile.phases.iter().filter_map(|row| Some((row, row.products?)));
    rows().next()?;
    let peak = profile.peak_flop_per_s.map(|peak| {
        format!(
            " The share is of {}FLOP/s, which the multipliers of the threads did in a loop before.",
            si(peak)
        )
    });
    let note = format!(
        "Floating-point operations of dense matrix products, two for a multiplication and an addition, by the time of the whole phase.{}",
        peak.unwrap_or_default()
    );
    let columns = [
        Column::name(""),
        Column::bar(),
        Column::number("FLOP per batch"),
        Column::number("FLOP/s"),
        Column::number("of the multipliers"),
    ];
    let table = Table::new(columns).with_rows(rows().map(|(row, products)| {
        let share = products.share_of_peak;
        let figure = |value: f64| TableCell::number(si(value), value);
        [
            TableCell::from(&row.name[..]),
            share.map_or_else(TableCell::default, |share| Bar::of(share, colour(&row.name)).into()),
            figure(products.flop),
            figure(products.flop_per_s),
            share.map_or_else(|| "-".into(), |share| TableCell::number(percent(share), share)),
        ]
    }));
    Some(Section::new(id, format!("Matrix products{of}")).note(note).with(table))
}

/// Returns the section of the phases that read from memory, or the reason why their reads are not counted.
fn memory_reads(profile: &RunProfile, of: &str, id: &str) -> Option<Section> {
    let section = Section::new(id, format!("Reads from memory{of}"));
    Some(match profile.memory_reads.as_ref()? {
        MemoryReads::Counted(reads) => section.note(reads_note(reads)).with(reads_table(reads)),
        MemoryReads::NotCounted(reason) => section.with(reads_not_counted(reason)),
    })
}

fn reads_note(reads: &CountedReads) -> String {
    let counter = &reads.counter;
    format!(
        "Bytes by the time of the whole phase, by samples of {}, {} each. They include lines that are fetched to be written, not lines written \
         back. The share is of {}B/s, which the threads read in a loop before. The event counted {} of the bytes of that loop, by which the figures are \
         divided.",
        counter.event,
        bytes(counter.bytes_per_sample),
        si(counter.peak_bytes_per_s),
        percent(counter.counted)
    )
}

fn reads_table(reads: &CountedReads) -> Table {
    let columns = [
        Column::name(""),
        Column::bar(),
        Column::number("bytes per batch"),
        Column::number("B/s"),
        Column::number("of the peak"),
        Column::number("samples"),
        Column::text("most of them in"),
    ];
    let figure = |value: f64| TableCell::number(si(value), value);
    Table::new(columns).with_rows(reads.phases.iter().map(|row| {
        [
            TableCell::from(&row.name[..]),
            Bar::of(row.share_of_peak, colour(&row.name)).into(),
            figure(row.bytes),
            figure(row.bytes_per_s),
            TableCell::number(percent(row.share_of_peak), row.share_of_peak),
            TableCell::number(count(row.samples), row.samples as f64),
            TableCell::from(&row.function[..]),
        ]
    }))
}

fn memory(profile: &RunProfile, of: &str, id: &str) -> Option<Section> {
    let peak = bytes(profile.peak_rss_bytes?);
    let pool = profile.pool_bytes.map(|pool| format!(", of it {} in the engine's buffers", bytes(pool)));
    let text = format!("peak {peak}{}", pool.unwrap_or_default());
    let section = Section::new(id, format!("Memory{of}")).with(text);
    let curve = profile.memory_curve();
    let points = curve.iter().map(|point| (point.at_us, point.bytes, Some(point.phase.clone())));
    Some(if curve.len() > 1 { section.with(picture::memory(format!("{id}-curve"), points)) } else { section })
}

fn phase_table(rows: &[PhaseRow]) -> Table {
    let columns = [
        Column::name(""),
        Column::bar(),
        Column::number("per batch"),
        Column::number("share"),
        Column::number("per sample"),
        Column::number("median").wide_only(),
        Column::number("middle half").wide_only(),
        Column::number("memory after").wide_only(),
    ];
    let most = rows.iter().map(|row| row.wall_s.max(row.spread.high_quartile_s)).fold(1e-15, f64::max);
    let time = |value: f64| TableCell::number(seconds(value), value);
    Table::new(columns).with_rows(rows.iter().map(|row| {
        let (low, high) = (row.spread.low_quartile_s, row.spread.high_quartile_s);
        let bar = Bar {
            interval: Some((low / most, high / most)),
            ..Bar::of(row.wall_s / most, colour(&row.name))
        };
        [
            TableCell::from(&row.name[..]),
            bar.into(),
            time(row.wall_s),
            TableCell::number(percent(row.share), row.share),
            time(row.wall_s_per_sample),
            time(row.spread.median_s),
            TableCell::number(format!("{} to {}", seconds(low), seconds(high)), high),
            row.rss_bytes.map_or_else(TableCell::default, |rss| TableCell::number(bytes(rss), rss as f64)),
        ]
    }))
}

fn comparison_headline(comparison: &RunComparison) -> String {
    headline(&comparison.rows, TimedUnit::Each("sample"), comparison.comparable)
}

fn comparison_sections(comparison: &RunComparison, prefix: &str) -> Vec<Section> {
    let remark = |what: &str| match what {
        what if comparison.varied.iter().any(|varied| varied == what) => "intended",
        what if comparison.unlike.iter().any(|unlike| unlike == what) => "makes times differ by itself",
        _ => "",
    };
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(differences(&comparison.differences, &remark));
    if !comparison.comparable {
        return sections;
    }
    sections.extend(changes(
        &format!("{prefix}changes"),
        comparison.rows.first(),
        comparison.rows.iter().skip(1),
    ));
    sections.extend(rows_section(&format!("{prefix}samples"), "Per sample", comparison.rows.iter()));
    sections.extend(rows_section(
        &format!("{prefix}iterations"),
        "Per iteration",
        comparison.iterations.iter(),
    ));
    sections
}

/// Renders a comparison of runs as text.
pub fn run_compare_text(comparison: &RunComparison) -> String {
    let mut out =
        format!("{}\n\na  {}\nb  {}\n", comparison_headline(comparison), comparison.a, comparison.b);
    if comparison.differences.is_empty() {
        out.push_str("\nConditions are equal\n");
    }
    if comparison.comparable {
        out.push_str("\nratios are b / a, with the bounds the spread over steps allows\n");
    } else {
        writeln!(
            out,
            "\nNo ratio: these conditions make times differ by themselves. Measure under equal conditions, or declare the\n\
             difference intended with `--vary {}`.",
            comparison.unlike.join(",")
        )
        .ok();
    }
    out + &comparison_page(comparison).sections_to_text()
}

/// Renders a comparison of runs as one HTML file.
pub fn run_compare_html(comparison: &RunComparison) -> String {
    comparison_page(comparison).to_html()
}

fn comparison_page(comparison: &RunComparison) -> Page {
    Page {
        title: title(&comparison.a, &comparison.b),
        subtitle: format!("a: {} · b: {} · ratios are b / a", comparison.a, comparison.b),
        made_by: "knockout profile".to_owned(),
        footnote: FOOTNOTE.to_owned(),
        findings: vec![comparison_headline(comparison)],
        warnings: comparison.warnings.iter().map(run_comparison_warning).collect(),
        sections: comparison_sections(comparison, ""),
        ..Page::default()
    }
}
