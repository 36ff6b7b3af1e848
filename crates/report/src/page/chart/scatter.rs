//! Predicted against measured: a dot for each sample, or how many samples fall where.

use super::axis::AxisRange;
use super::{Scale, Scatter};
use crate::page::markup::escape;
use std::fmt::Write as _;

const SIDE: f64 = 330.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 322.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 284.0;
/// More samples than this become a density: a page of a hundred thousand dots opens slowly and shows less.
const DOTS: usize = 1500;
/// Squares of the density along each side.
const SQUARES: usize = 69;

pub(super) fn draw(scatter: &Scatter) -> String {
    let mut out = format!("<section><h2>{}</h2>\n", escape(&scatter.title));
    let both =
        || scatter.measured.iter().zip(&scatter.predicted).map(|(&m, &p)| (f64::from(m), f64::from(p)));
    let pairs: Vec<(f64, f64)> = both().filter(|(m, p)| m.is_finite() && p.is_finite()).collect();
    // One range for both: the diagonal is where a prediction is right.
    let Some(axis) = AxisRange::around(pairs.iter().flat_map(|&(m, p)| [m, p]), Scale::Linear) else {
        out.push_str("<p class=\"soft\">no samples</p></section>\n");
        return out;
    };
    let title = escape(&scatter.title);
    writeln!(out, "<svg class=\"square\" viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\" aria-label=\"predicted against measured, {title}\">").ok();
    frame(&mut out, &axis);
    let positions: Vec<(f64, f64)> =
        pairs.iter().filter_map(|&(m, p)| Some((axis.position(m)?, axis.position(p)?))).collect();
    if positions.len() <= DOTS {
        for (x, y) in &positions {
            write!(out, "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>", across(*x), up(*y))
                .ok();
        }
    } else {
        density(&mut out, &positions);
    }
    let (x, y) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
    let unit = if scatter.unit.is_empty() { String::new() } else { format!(" {}", escape(&scatter.unit)) };
    write!(out, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">measured{unit}</text>", BOTTOM + 34.0).ok();
    writeln!(
        out,
        "<text transform=\"translate(10 {y}) rotate(-90)\" text-anchor=\"middle\">predicted{unit}</text></svg>"
    )
    .ok();
    writeln!(out, "<p class=\"soft\">{}</p></section>", escape(&caption(scatter, &positions))).ok();
    out
}

fn caption(scatter: &Scatter, positions: &[(f64, f64)]) -> String {
    let mut text = format!("{}.", scatter.caption);
    if positions.len() > DOTS {
        text.push_str(" Squares of a stronger colour hold more samples, on a logarithmic scale.");
    }
    match scatter.measured.len().max(scatter.predicted.len()) - positions.len() {
        0 => {}
        1 => text.push_str(" One sample without a value is not shown."),
        left => write!(text, " {left} samples without a value are not shown.").unwrap_or_default(),
    }
    text
}

fn frame(out: &mut String, axis: &AxisRange) {
    for (value, text) in axis.ticks(5) {
        let Some(position) = axis.position(value) else { continue };
        let (x, y) = (across(position), up(position));
        write!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>").ok();
        write!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>").ok();
        write!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 6.0, y + 4.0).ok();
        writeln!(out, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", BOTTOM + 16.0).ok();
    }
    writeln!(out, "<line class=\"diagonal\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{RIGHT}\" y2=\"{TOP}\"/>")
        .ok();
}

fn across(position: f64) -> f64 {
    LEFT + position * (RIGHT - LEFT)
}

fn up(position: f64) -> f64 {
    BOTTOM - position * (BOTTOM - TOP)
}

fn density(out: &mut String, positions: &[(f64, f64)]) {
    let mut counts = vec![0_u32; SQUARES * SQUARES];
    let square = |position: f64| ((position * SQUARES as f64) as usize).min(SQUARES - 1);
    for &(x, y) in positions {
        counts[square(y) * SQUARES + square(x)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1);
    let size = (RIGHT - LEFT) / SQUARES as f64;
    out.push_str("<g shape-rendering=\"crispEdges\">");
    for (i, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (x, y) = (LEFT + (i % SQUARES) as f64 * size, BOTTOM - (i / SQUARES + 1) as f64 * size);
        let shade = 0.12 + 0.88 * f64::from(count).ln() / f64::from(most.max(2)).ln();
        write!(out, "<rect class=\"cell\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{size:.1}\" height=\"{size:.1}\" fill-opacity=\"{shade:.2}\"/>").ok();
    }
    out.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(count: usize) -> Scatter {
        let measured: Vec<f32> = (0..count).map(|i| (i % 97) as f32 / 97.0).collect();
        let predicted = measured.iter().map(|m| m * 0.5).collect();
        Scatter { title: "test".into(), caption: "n".into(), measured, predicted, ..Scatter::default() }
    }

    #[test]
    fn few_samples_are_dots_and_many_a_density() {
        assert_eq!(draw(&scatter(100)).matches("<circle").count(), 100);
        let many = draw(&scatter(200_000));
        assert!(!many.contains("<circle") && many.contains("<rect") && many.contains("stronger colour"));
        assert!(many.len() < 500_000, "{} bytes", many.len());
    }

    #[test]
    fn samples_that_are_not_shown_are_counted() {
        let mut some = scatter(10);
        some.measured[3] = f32::NAN;
        some.predicted[4] = f32::INFINITY;
        let text = draw(&some);
        assert_eq!(text.matches("<circle").count(), 8);
        assert!(text.contains("2 samples without a value are not shown"));
        assert!(draw(&Scatter::default()).contains("no samples"));
    }
}
