//! Curves over epochs or steps.

use super::axis::AxisRange;
use super::labels::{self, LabelledPoint, Room};
use super::{Chart, Series};
use crate::page::markup::escape;
use crate::page::palette::colours;
use crate::units;
use std::fmt::Write as _;

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 432.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 214.0;
/// A longer curve is drawn by the mean of each of as many strips, over a band from their lowest to their highest value.
const STRIPS: usize = 400;
/// A shorter curve shows its points.
const FEW: usize = 60;
/// Rows of the table below a chart; a longer run has its numbers in `metrics.jsonl`.
const ROWS: usize = 200;

pub(super) fn draw(chart: &Chart) -> String {
    let mut out = format!("<section><h2>{}</h2>\n", escape(&chart.title));
    let points = || chart.series.iter().flat_map(|series| &series.points);
    // A point without a height must not stretch the width.
    let across = AxisRange::around(
        points().filter(|point| point.1.is_finite()).map(|point| point.0),
        chart.across_scale,
    );
    let ends = chart.series.iter().filter_map(|series| series.interval).flat_map(|(low, high)| [low, high]);
    let up = AxisRange::around(points().map(|point| point.1).chain(ends), chart.scale);
    let (Some(across), Some(up)) = (across, up) else {
        out.push_str("<p class=\"soft\">no values yet</p></section>\n");
        return out;
    };
    writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} by {}\">",
        escape(&chart.title),
        escape(&chart.across)
    )
    .ok();
    frame(&mut out, &across, &up, chart);
    let colours = colours(chart.series.iter().map(|series| &series.name[..]));
    for (series, colour) in chart.series.iter().zip(&colours) {
        curve(&mut out, series, colour, &across, &up);
    }
    names(&mut out, chart, &colours, &across, &up);
    out.push_str("</svg>\n");
    // Lone points have their names beside them.
    if chart.series.iter().any(|series| series.points.len() != 1) {
        legend(&mut out, chart, &colours);
    }
    table(&mut out, chart);
    out.push_str("</section>\n");
    out
}

fn frame(out: &mut String, across: &AxisRange, up: &AxisRange, chart: &Chart) {
    for (value, text) in up.ticks(5) {
        let Some(y) = up.position(value).map(height) else { continue };
        write!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>").ok();
        writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 6.0, y + 4.0)
            .ok();
    }
    for (value, text) in across.ticks(5) {
        let is_whole = value.fract() == 0.0 && value >= 0.0;
        if chart.counts_whole && !is_whole {
            continue;
        }
        let text = if chart.counts_whole { units::count(value as u64) } else { text };
        let Some(x) = across.position(value).map(width) else { continue };
        writeln!(out, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", BOTTOM + 16.0).ok();
    }
    let (x, y) = (f64::midpoint(LEFT, RIGHT), HEIGHT - 4.0);
    writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escape(&chart.across)).ok();
    let y = f64::midpoint(TOP, BOTTOM);
    let label = escape(&chart.up);
    writeln!(out, "<text transform=\"translate(11 {y}) rotate(-90)\" text-anchor=\"middle\">{label}</text>")
        .ok();
}

fn width(position: f64) -> f64 {
    LEFT + position * (RIGHT - LEFT)
}

fn height(position: f64) -> f64 {
    BOTTOM - position * (BOTTOM - TOP)
}

fn curve(out: &mut String, series: &Series, colour: &str, across: &AxisRange, up: &AxisRange) {
    let position = |at: f64, value: f64| Some((width(across.position(at)?), height(up.position(value)?)));
    write!(out, "<g style=\"--own:{colour}\">").ok();
    if let (Some((low, high)), [(at, _)]) = (series.interval, &series.points[..])
        && let (Some((x, bottom)), Some((_, top))) = (position(*at, low), position(*at, high))
    {
        write!(
            out,
            "<line class=\"interval\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom:.1}\" y2=\"{top:.1}\"/>"
        )
        .ok();
    }
    if series.points.len() > 2 * STRIPS {
        let strips = strips(&series.points);
        let top = strips.iter().filter_map(|strip| position(strip.at, strip.high));
        let bottom = strips.iter().rev().filter_map(|strip| position(strip.at, strip.low));
        out.push_str("<polygon class=\"band\" points=\"");
        for (x, y) in top.chain(bottom) {
            write!(out, "{x:.1},{y:.1} ").ok();
        }
        out.push_str("\"/>");
        path(out, strips.iter().map(|strip| position(strip.at, strip.mean)));
    } else {
        path(out, series.points.iter().map(|&(at, value)| position(at, value)));
    }
    if series.points.len() <= FEW {
        for &(at, value) in &series.points {
            if let Some((x, y)) = position(at, value) {
                let name = escape(&series.name);
                write!(
                    out,
                    "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"><title>{name} {} at {at}</title></circle>",
                    number(value)
                )
                .ok();
            }
        }
    }
    out.push_str("</g>\n");
}

/// Labels series of one point by their names: there may be more of them than colours. A line leads from a distant label to its point.
fn names(out: &mut String, chart: &Chart, colours: &[&'static str], across: &AxisRange, up: &AxisRange) {
    let named: Vec<(&str, LabelledPoint<'_>)> = (chart.series.iter().zip(colours))
        .filter_map(|(series, &colour)| {
            let [(at, value)] = series.points[..] else { return None };
            let (x, y) = (width(across.position(at)?), height(up.position(value)?));
            Some((colour, LabelledPoint { name: &series.name, x, y }))
        })
        .collect();
    let points: Vec<LabelledPoint<'_>> = named.iter().map(|(_, point)| *point).collect();
    let room = Room { left: LEFT, right: RIGHT, top: 0.0, bottom: BOTTOM };
    for ((colour, point), label) in named.iter().zip(labels::place(&points, room)) {
        let is_left = label.x < point.x;
        let (x, anchor) = if is_left { (label.x + label.width, "end") } else { (label.x, "start") };
        if (label.y - point.y).abs() > 8.0 {
            let (end, y) = (if is_left { x + 1.0 } else { x - 1.0 }, label.y - 3.5);
            write!(
                out,
                "<line class=\"leader\" style=\"--own:{colour}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{end:.1}\" y2=\"{y:.1}\"/>",
                point.x, point.y
            )
            .ok();
        }
        let name = escape(point.name);
        writeln!(
            out,
            "<text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{name}</text>",
            label.y
        )
        .ok();
    }
}

/// A line through the positions; one that is missing is a gap.
fn path(out: &mut String, positions: impl Iterator<Item = Option<(f64, f64)>>) {
    out.push_str("<path class=\"curve\" d=\"");
    let mut pen = 'M';
    for position in positions {
        match position {
            Some((x, y)) => {
                write!(out, "{pen}{x:.1} {y:.1}").ok();
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    out.push_str("\"/>");
}

/// Neighbouring points as one.
struct Strip {
    at: f64,
    low: f64,
    mean: f64,
    high: f64,
}

/// Strips of equally many points; one without a finite value is left out.
fn strips(points: &[(f64, f64)]) -> Vec<Strip> {
    let strip = |points: &[(f64, f64)]| {
        let finite: Vec<f64> = points.iter().map(|point| point.1).filter(|value| value.is_finite()).collect();
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        let (low, high) = finite.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
        (!finite.is_empty()).then(|| Strip { at: points[points.len() / 2].0, low, mean, high })
    };
    points.chunks(points.len().div_ceil(STRIPS)).filter_map(strip).collect()
}

fn legend(out: &mut String, chart: &Chart, colours: &[&str]) {
    out.push_str("<div class=\"legend\">");
    for (series, colour) in chart.series.iter().zip(colours) {
        let name = escape(&series.name);
        write!(out, "<span style=\"--own:{colour}\"><i></i>{name}").ok();
        // What has come of it so far: where steps are counted, not at the right end of a distribution.
        if chart.counts_whole {
            let mut finite = series.points.iter().map(|point| point.1).filter(|value| value.is_finite());
            let shown = if chart.has_best { finite.reduce(f64::max) } else { finite.next_back() };
            write!(out, " <b>{}</b>", shown.map_or_else(|| "–".to_owned(), number)).ok();
        }
        out.push_str("</span>");
    }
    out.push_str("</div>\n");
}

fn table(out: &mut String, chart: &Chart) {
    let mut rows: Vec<f64> =
        chart.series.iter().flat_map(|series| &series.points).map(|point| point.0).collect();
    rows.sort_by(f64::total_cmp);
    rows.dedup();
    if rows.len() > ROWS {
        return;
    }
    write!(
        out,
        "<details><summary>numbers</summary><div class=\"scroll\"><table><tr><th>{}</th>",
        escape(&chart.across)
    )
    .ok();
    for series in &chart.series {
        write!(out, "<th class=\"num\">{}</th>", escape(&series.name)).ok();
    }
    out.push_str("</tr>");
    for row in rows {
        write!(out, "<tr><td>{}</td>", (row * 1e3).round() / 1e3).ok();
        for series in &chart.series {
            let found = series.points.iter().find(|point| point.0.total_cmp(&row).is_eq());
            let text = found.map_or_else(String::new, |point| number(point.1));
            write!(out, "<td class=\"num\">{text}</td>").ok();
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div></details>\n");
}

fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "undefined".to_owned()
    } else if size != 0.0 && !(1e-3..1e6).contains(&size) {
        format!("{value:.3e}")
    } else if size >= 1e4 {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", units::count(size.round() as u64))
    } else {
        format!("{value:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_extremes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[12_345].1 = 9.0;
        points[54_321].1 = -9.0;
        points[60_000].1 = f64::NAN;
        let strips = strips(&points);
        assert!(strips.len() <= STRIPS);
        assert_eq!(strips.iter().map(|strip| strip.high).fold(0.0, f64::max), 9.0);
        assert_eq!(strips.iter().map(|strip| strip.low).fold(0.0, f64::min), -9.0);
        assert!(strips.iter().all(|strip| strip.mean.is_finite()));
        let text = draw(&Chart { series: vec![Series::new("a", points)], ..Chart::default() });
        assert!(text.len() < 50_000, "{} bytes", text.len());
    }

    #[test]
    fn a_missing_value_is_a_gap() {
        let points = vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 2.0)];
        let chart = Chart { series: vec![Series::new("a", points)], ..Chart::default() };
        let text = draw(&chart);
        let path = text.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 2), "{path}");
        assert!(text.contains("undefined"));
    }

    #[test]
    fn epochs_are_whole_and_large_values_grouped() {
        let points = vec![(1.0, 30_756.73), (2.0, 24_000.0)];
        let series = vec![Series::new("a", points)];
        let text = draw(&Chart { series, counts_whole: true, ..Chart::default() });
        assert!(
            text.contains(">1</text>") && text.contains(">2</text>") && !text.contains(">1.5</text>"),
            "{text}"
        );
        assert!(text.contains("<td class=\"num\">30,757</td>"), "{text}");
    }

    #[test]
    fn both_axes_have_a_name_and_a_lone_point_its_interval() {
        let series = Series { interval: Some((0.2, 0.9)), ..Series::new("a", [(1.0, 0.5)]) };
        let text = draw(&Chart {
            up: "Pearson".into(),
            across: "epoch".into(),
            series: vec![series],
            ..Chart::default()
        });
        assert!(text.contains(">Pearson</text>") && text.contains(">epoch</text>"), "{text}");
        assert_eq!(text.matches("class=\"interval\"").count(), 1);
        assert!(
            text.contains(">0.2</text>") && text.contains(">0.8</text>"),
            "the axis includes the interval: {text}"
        );
    }

    #[test]
    fn an_empty_chart_has_a_sentence() {
        let none = Chart { series: vec![Series::new("a", [(0.0, f64::NAN)])], ..Chart::default() };
        assert!(draw(&none).contains("no values yet"));
        assert!(draw(&Chart::default()).contains("no values yet"));
    }
}
