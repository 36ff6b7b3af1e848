//! Charts as inline SVG. Only positions on the page are computed here; all points are drawn, many as a density.

mod axis;
mod curves;
mod diagram;
mod heat;
mod labels;
mod scatter;
mod strip;

pub use diagram::{Diagram, DiagramNode, effect_colour};
pub use heat::HeatMap;
pub use strip::{Strip, StripMark, StripRow};

/// A chart with a heading of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    /// Curves or named points.
    Chart(Chart),
    /// Predicted against measured values.
    Scatter(Scatter),
}

impl Plot {
    pub(super) fn draw(&self) -> String {
        match self {
            Self::Chart(chart) => curves::draw(chart),
            Self::Scatter(scatter) => scatter::draw(scatter),
        }
    }
}

/// Mapping from values to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; values of zero and below are left out.
    Log,
}

/// Curves over a common axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Quantity and unit of the horizontal axis: `epoch`, `CPU time (s)`.
    pub across: String,
    /// Quantity and unit of the vertical axis: `validation Pearson`.
    pub up: String,
    /// Whether the horizontal axis counts: its ticks are whole numbers.
    pub counts_whole: bool,
    /// Whether the legend of such a chart has the highest value of each curve instead of the last.
    pub has_best: bool,
    /// Horizontal scale.
    pub across_scale: Scale,
    /// Vertical scale.
    pub scale: Scale,
    /// Curves; a series of one point is drawn as a point with its name.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Text in the legend; it decides the colour.
    pub name: String,
    /// Points from left to right; a value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
    /// Interval of the value of a lone point, drawn as a vertical line.
    pub interval: Option<(f64, f64)>,
}

impl Series {
    /// Returns a curve.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), interval: None }
    }
}

/// Predicted against measured values of one part of the samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scatter {
    /// Heading: the part of the samples.
    pub title: String,
    /// Metrics over the whole part.
    pub caption: String,
    /// Unit or meaning of the values, such as `score (negative: sicker than expected)`.
    pub unit: String,
    /// Measured value of each sample.
    pub measured: Vec<f32>,
    /// Predicted value of each sample, in the same order.
    pub predicted: Vec<f32>,
}
