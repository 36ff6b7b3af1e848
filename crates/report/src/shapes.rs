//! Operators by the shapes of their inputs, as a section and as a roofline plot.

use crate::page::{Chart, Column, Plot, Scale, Section, Series, Table, TableCell};
use crate::units::{count, percent, shortened, si, time};
use knockout_analyze::{Analysis, Peaks, Precision, RoofLimit, ShapeRow, Shapes};

const TEXT_ROWS: usize = 15;
const HTML_ROWS: usize = 40;
/// Rows of the table in HTML when it is expanded.
const MOST_ROWS: usize = 1000;
/// Points of the plot: the operators that take longest.
const MOST_POINTS: usize = 10;
/// Columns of a kernel's name; the document has it whole.
const KERNEL_WIDTH: usize = 80;
/// Columns of the sizes of an operator's inputs.
const DIMS_WIDTH: usize = 44;

/// Returns the section of operators by shape; `None` where the trace has no shapes.
pub(crate) fn section(analysis: &Analysis) -> Option<Section> {
    let shapes = &analysis.shapes;
    if shapes.rows.is_empty() {
        return None;
    }
    let side = if shapes.has_device { "device" } else { "host" };
    let total: f64 = shapes.rows.iter().map(|row| row.measured_us(shapes.has_device)).sum();
    let has_roof = shapes.rows.iter().any(|row| row.roof.is_some());
    let columns = [
        (Column::name("operator"), true),
        (Column::text("inputs"), true),
        (Column::text("type"), true),
        (Column::number("calls"), true),
        (Column::number(side), true),
        (Column::number("of all"), true),
        (Column::number("FLOP/s"), true),
        (Column::number("bytes/s"), true),
        (Column::number("of peak"), has_roof),
        (Column::text("limit"), has_roof),
        (Column::name("longest kernel").wide_only(), shapes.has_device),
    ];
    let shown = columns.iter().map(|(_, is_shown)| *is_shown).collect::<Vec<_>>();
    let columns = columns.into_iter().filter(|(_, is_shown)| *is_shown).map(|(column, _)| column);
    let rows = shapes.rows.iter().filter(|row| row.measured_us(shapes.has_device) > 0.0);
    let table = Table::new(columns).id("shape-table").limited(TEXT_ROWS, HTML_ROWS).with_rows(
        rows.take(MOST_ROWS).map(|row| {
            let cells = cells(row, shapes.has_device, total);
            cells
                .into_iter()
                .zip(&shown)
                .filter(|(_, is_shown)| **is_shown)
                .map(|(cell, _)| cell)
                .collect::<Vec<_>>()
        }),
    );
    let note = format!(
        "Time of the {side}. Kernels belong to the outermost operator around them whose work is known, else to the innermost one. \
         Of peak: the least time of the work on this device by the time it takes."
    );
    let section = Section::new("shapes", "Operators by shape")
        .note(note)
        .with(table)
        .with(vec![known(shapes, side), peaks_text(shapes)]);
    Some(roofline(shapes).into_iter().fold(section, Section::with))
}

fn cells(row: &ShapeRow, has_device: bool, total: f64) -> Vec<TableCell> {
    let dash = || TableCell::from("-");
    let rate = |value: Option<f64>| value.map_or_else(dash, |value| TableCell::number(si(value), value));
    let us = row.measured_us(has_device);
    vec![
        TableCell::from(&row.name[..]),
        TableCell::from(shortened(&inputs(row), DIMS_WIDTH)),
        row.precision.map_or_else(dash, |precision| TableCell::from(precision_name(precision))),
        TableCell::number(count(row.calls), row.calls as f64),
        TableCell::number(time(us), us),
        TableCell::number(percent(us / total.max(1e-9)), us),
        rate(row.flop_per_s),
        rate(row.bytes_per_s),
        row.roof.map_or_else(dash, |roof| TableCell::number(percent(roof.share), roof.share)),
        row.roof.map_or_else(dash, |roof| TableCell::from(limit_name(roof.limit))),
        row.kernels
            .first()
            .map_or_else(dash, |kernel| TableCell::from(shortened(&kernel.name, KERNEL_WIDTH))),
    ]
}

fn limit_name(limit: RoofLimit) -> &'static str {
    match limit {
        RoofLimit::Compute => "compute",
        RoofLimit::Memory => "memory",
    }
}

fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Fp64 => "FP64",
        Precision::Fp32 => "FP32",
        Precision::Tf32 => "TF32",
        Precision::Fp16 => "FP16",
        Precision::Fp8 => "FP8",
        Precision::Int8 => "INT8",
        Precision::Other => "other",
    }
}

/// Returns the sizes of the inputs that are tensors: `[64, 512] [512, 256]`.
fn inputs(row: &ShapeRow) -> String {
    let list: Result<Vec<serde_json::Value>, _> = serde_json::from_str(&row.dims);
    let Ok(list) = list else { return row.dims.clone() };
    let sized = list.iter().filter(|dims| dims.as_array().is_some_and(|dims| !dims.is_empty()));
    sized.map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn known(shapes: &Shapes, side: &str) -> String {
    let of = if shapes.has_device { "the device events’ time" } else { "the time of these operators" };
    format!(
        "Operators with known work: {} of {of}, {}FLOP. A product of matrices, a convolution and attention count two \
         for each multiplication and addition; a causal mask counts what it leaves; elementwise operators count one for each element. \
         Operators without known work have a {side} time alone.",
        percent(shapes.known_share),
        si(shapes.flop),
    )
}

fn peaks_text(shapes: &Shapes) -> String {
    let Some(peaks) = &shapes.peaks else {
        let device = match &shapes.device {
            Some(name) => format!("“{name}”"),
            None if shapes.has_device => "the device, which the trace does not name".to_owned(),
            None => "a CPU".to_owned(),
        };
        return format!(
            "No peaks are known for {device}: give them with --peak-flops and --peak-bandwidth for shares of them and a roofline."
        );
    };
    let of = if peaks.source.is_empty() { String::new() } else { format!(", from: {}", peaks.source) };
    let flops: Vec<String> = used(shapes, peaks)
        .into_iter()
        .map(|(precision, peak)| format!("{} {}FLOP/s", precision_name(precision), si(peak)))
        .collect();
    let memory = peaks.bytes_per_s.map(|peak| format!("memory {}B/s", si(peak)));
    let all: Vec<String> = flops.into_iter().chain(memory).collect();
    format!("Peaks of {}: {}{of}.", peaks.device, all.join(", "))
}

/// Peaks of the precisions that occur.
fn used(shapes: &Shapes, peaks: &Peaks) -> Vec<(Precision, f64)> {
    let occurs = |precision: &Precision| shapes.rows.iter().any(|row| row.precision == Some(*precision));
    peaks.flop_per_s.iter().filter(|(precision, _)| occurs(precision)).map(|(p, peak)| (*p, *peak)).collect()
}

/// Returns the roofline plot: the operators that take longest, below the peaks of the device.
fn roofline(shapes: &Shapes) -> Option<Plot> {
    let peaks = shapes.peaks.as_ref()?;
    let points: Vec<(&ShapeRow, f64, f64)> = shapes
        .rows
        .iter()
        .filter_map(|row| Some((row, row.intensity.filter(|value| *value > 0.0)?, row.flop_per_s?)))
        .filter(|(row, ..)| row.roof.is_some())
        .take(MOST_POINTS)
        .collect();
    let least = points.iter().map(|point| point.1).reduce(f64::min)? / 2.0;
    let most = points.iter().map(|point| point.1).reduce(f64::max)? * 2.0;
    let mut series = Vec::new();
    for (precision, peak) in used(shapes, peaks) {
        // A peak that none of the points has would only stretch the plot.
        if !points.iter().any(|(row, ..)| row.precision == Some(precision)) {
            continue;
        }
        let name = format!("{} peak", precision_name(precision));
        let roof = match peaks.bytes_per_s {
            Some(memory) => {
                let ridge = peak / memory;
                let (from, to) = (least.min(ridge / 2.0), most.max(ridge * 2.0));
                vec![(from, from * memory), (ridge, peak), (to, peak)]
            }
            None => vec![(least, peak), (most, peak)],
        };
        series.push(Series::new(name, roof));
    }
    for (row, intensity, rate) in &points {
        let plain = row.name.rsplit("::").next().unwrap_or(&row.name);
        series.push(Series::new(format!("{plain} {}", shortened(&inputs(row), 24)), [(*intensity, *rate)]));
    }
    Some(Plot::Chart(Chart {
        title: format!("Roofline of {}: the {} longest operators", peaks.device, points.len()),
        across: "FLOP per byte of inputs and outputs".to_owned(),
        up: "FLOP/s".to_owned(),
        across_scale: Scale::Log,
        scale: Scale::Log,
        series,
        ..Chart::default()
    }))
}
