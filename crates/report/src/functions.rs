//! Functions of phases and layers, by samples of the CPU: sections of a run's page, and collapsed stacks.

use crate::collapsed::frame;
use crate::page::{Bar, Column, Medium, Section, Table, TableCell, colour};
use crate::units::{count, percent};
use knockout_analyze::profile::functions::{FunctionSamples, SpanFunctions};
use std::fmt::Write as _;

/// Rows of a function, from this share of its phase on.
const LEAST_SHARE: f64 = 0.01;
/// Text has the functions of phases from this share of all samples on, and of so many parts, the longest.
const LEAST_PHASE: f64 = 0.01;
const TEXT_PARTS: usize = 10;
/// HTML has so many parts, in a table of so many rows before it is expanded.
const HTML_PARTS: usize = 60;
const HTML_ROWS: usize = 25;

/// Returns the sections of the functions of a run; their ids begin with `id`, their headings end with `of`.
pub(crate) fn sections(found: &FunctionSamples, id: &str, of: &str) -> [Section; 2] {
    let section = || Section::new(id, format!("Functions of the phases{of}")).note(note(found));
    let phases = found.phases.iter().filter(|span| span.share >= LEAST_PHASE);
    let text = section().only(Medium::Text).with(table(phases, 8));
    let parts = table(found.parts.iter().take(TEXT_PARTS), 3).titled("Functions of layers and terms");
    let text = if parts.is_empty() { text } else { text.with(parts) };
    let html = [
        ("phases", "", &found.phases),
        ("parts", "Functions of layers and terms", &found.parts),
        ("background", "Functions of threads that work ahead", &found.background),
    ];
    let html = html.into_iter().filter(|(_, _, spans)| !spans.is_empty()).map(|(name, title, spans)| {
        let table = table(spans.iter().take(HTML_PARTS), usize::MAX);
        table.titled(title).id(format!("{id}-{name}")).limited(HTML_ROWS, HTML_ROWS)
    });
    [text.with(note(found)), html.fold(section().only(Medium::Html), Section::with)]
}

/// Returns what the figures are, and what is not in them.
fn note(found: &FunctionSamples) -> String {
    let more = |samples: u64, what: &str| match samples {
        0 => String::new(),
        samples => format!("; {} more were {what}", count(samples)),
    };
    format!(
        "{} CPU samples ({}) in the measured steps, of all threads{}{}. Self time: each counts for the function that it fell into, not for its \
         callers.",
        count(found.samples),
        found.event,
        more(found.outside, "outside all spans"),
        more(found.unmeasured, "in steps that are not measured")
    )
}

/// Functions of spans, at most so many of each.
fn table<'s>(spans: impl Iterator<Item = &'s SpanFunctions>, most: usize) -> Table {
    let columns = [
        Column::name(""),
        Column::name("function"),
        Column::bar(),
        Column::number("CPU samples"),
        Column::number("share"),
    ];
    let rows = spans.flat_map(|span| {
        let phase = span.name.split('/').next().unwrap_or(&span.name);
        let functions = span.functions.iter().filter(|row| row.share >= LEAST_SHARE).take(most);
        functions.map(move |row| {
            [
                TableCell::from(&span.name[..]),
                TableCell::from(&row.name[..]),
                Bar::of(row.share, colour(phase)).into(),
                TableCell::number(count(row.samples), row.samples as f64),
                TableCell::number(percent(row.share), row.share),
            ]
        })
    });
    Table::new(columns).with_rows(rows)
}

/// Sampled functions as collapsed stacks: the phase, the layer and the function in each line, and its samples.
pub fn collapsed_functions(found: &FunctionSamples) -> String {
    let mut out = String::new();
    for stack in &found.stacks {
        let frames: Vec<String> = stack.frames.iter().map(|name| frame(name)).collect();
        writeln!(out, "{} {}", frames.join(";"), stack.samples).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use knockout_analyze::profile::functions::{FunctionRow, SampledStack};

    fn found() -> FunctionSamples {
        let row = |name: &str, samples, share| FunctionRow { name: name.to_owned(), samples, share };
        let span = |name: &str, samples, share, functions| SpanFunctions {
            name: name.to_owned(),
            samples,
            share,
            functions,
        };
        let gemm =
            || vec![row("gemm::avx2", 900, 0.9), row("memset (libc.so.6)", 96, 0.096), row("rare", 4, 0.004)];
        FunctionSamples {
            event: "cpu-clock".to_owned(),
            samples: 1_004,
            outside: 0,
            unmeasured: 77,
            phases: vec![
                span("forward", 1_000, 0.996, gemm()),
                span("clip", 4, 0.004, vec![row("norm", 4, 1.0)]),
            ],
            parts: vec![span("forward/sage1", 1_000, 0.996, gemm())],
            background: Vec::new(),
            stacks: vec![SampledStack {
                frames: ["forward", "a;b", "gemm"].map(str::to_owned).to_vec(),
                samples: 9,
            }],
        }
    }

    #[test]
    fn text_has_the_functions_of_long_phases_and_html_those_of_all() {
        let page = Page { sections: sections(&found(), "functions", "").to_vec(), ..Page::default() };
        let text = page.sections_to_text();
        for words in [
            "forward  gemm::avx2                  900  90.0 %",
            "Functions of layers and terms",
            "1,004 CPU samples (cpu-clock) in the measured steps, of all threads; 77 more were in steps that are not measured.",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        assert!(!text.contains("clip") && !text.contains("rare") && !text.contains("outside"), "{text}");
        let html = page.to_html();
        for words in ["clip", "id=\"functions-parts\"", "gemm::avx2", "Self time"] {
            assert!(html.contains(words), "{words}");
        }
    }

    #[test]
    fn a_frame_has_no_separator_in_its_name() {
        assert_eq!(collapsed_functions(&found()), "forward;a:b;gemm 9\n");
    }
}
