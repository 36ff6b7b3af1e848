//! Work of an operator, from the shapes and types of its inputs: floating-point operations and bytes.
//!
//! Depends on the text of the profiler's lists alone: `Input Dims`, `Input type` and `Concrete Inputs`.

use serde_json::Value;

/// Operators that compute one operation for each element of their output.
const ELEMENTWISE: [&str; 62] = [
    "abs",
    "add",
    "addcdiv",
    "addcmul",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "cos",
    "div",
    "elu",
    "elu_backward",
    "erf",
    "exp",
    "expm1",
    "floor",
    "gelu",
    "gelu_backward",
    "hardswish",
    "hardswish_backward",
    "hardtanh",
    "hardtanh_backward",
    "leaky_relu",
    "leaky_relu_backward",
    "lerp",
    "log",
    "log1p",
    "log2",
    "log_sigmoid_forward",
    "logical_and",
    "logical_not",
    "logical_or",
    "masked_fill",
    "maximum",
    "minimum",
    "mish",
    "mul",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sigmoid",
    "sigmoid_backward",
    "sign",
    "silu",
    "silu_backward",
    "sin",
    "softplus",
    "softplus_backward",
    "sqrt",
    "square",
    "sub",
    "tanh",
    "tanh_backward",
    "threshold_backward",
];
/// Elementwise operators whose output is of one byte for each element.
const COMPARISONS: [&str; 9] = ["eq", "ge", "gt", "isinf", "isnan", "le", "lt", "ne", "isfinite"];

/// Type of the numbers that an operator computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Floats of 64 bits.
    Fp64,
    /// Floats of 32 bits.
    Fp32,
    /// Floats of 32 bits, multiplied with a mantissa of 10 bits.
    Tf32,
    /// Floats of 16 bits, with either exponent.
    Fp16,
    /// Floats of 8 bits.
    Fp8,
    /// Whole numbers of 8 bits.
    Int8,
    /// Anything else.
    Other,
}

/// Work of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// Floating-point operations; a multiplication and an addition are two.
    pub(crate) flop: f64,
    /// Bytes of inputs and outputs, each counted once.
    pub(crate) bytes: f64,
    pub(crate) precision: Precision,
}

/// Rule for the work of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formula {
    /// Product of the inputs with these indices.
    Product(usize, usize),
    /// Product of FP8 inputs, with the output's type among the inputs.
    ScaledProduct,
    /// `x wᵀ`.
    Linear,
    /// Convolution of input 0 with weight 1; the other values begin at the index.
    Convolution,
    /// `conv1d`, `conv2d` or `conv3d`: as [`Self::Convolution`], without transposition.
    PlainConvolution,
    ConvolutionBackward,
    /// Attention.
    Attention(Attention),
    /// An operation for each element of the output.
    Elementwise,
    /// Like [`Self::Elementwise`], with an output of one byte for each element.
    Comparison,
    /// Reads the second input and writes the first.
    Copy,
    /// Writes the first input.
    Fill,
}

/// Inputs of an attention operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attention {
    /// Index of the query; key and value follow.
    query: usize,
    /// Index of `is_causal`.
    causal: usize,
    /// Whether heads come before positions.
    heads_first: bool,
    is_backward: bool,
}

impl Formula {
    /// Returns the rule for an operator's name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let attention = |query, causal, heads_first| {
            Some(Self::Attention(Attention { query, causal, heads_first, is_backward: query > 0 }))
        };
        if let Some(name) = name.strip_prefix("flash_attn::") {
            return match name {
                "_flash_attn_forward" => attention(0, 5, false),
                "_flash_attn_backward" => attention(1, 11, false),
                _ => None,
            };
        }
        let name = name.strip_prefix("aten::")?;
        match name {
            "mm" | "bmm" | "matmul" | "mv" | "dot" => Some(Self::Product(0, 1)),
            "addmm" | "addmm_" | "_addmm_activation" | "baddbmm" | "baddbmm_" | "addmv" => {
                Some(Self::Product(1, 2))
            }
            "_scaled_mm" => Some(Self::ScaledProduct),
            "linear" => Some(Self::Linear),
            "conv1d" | "conv2d" | "conv3d" => Some(Self::PlainConvolution),
            "convolution" | "_convolution" => Some(Self::Convolution),
            "convolution_backward" => Some(Self::ConvolutionBackward),
            "scaled_dot_product_attention" => attention(0, 5, true),
            "_scaled_dot_product_flash_attention" | "_scaled_dot_product_flash_attention_for_cpu" => {
                attention(0, 4, true)
            }
            "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => {
                attention(0, 6, true)
            }
            "_scaled_dot_product_flash_attention_backward"
            | "_scaled_dot_product_efficient_attention_backward" => attention(1, 11, true),
            "_scaled_dot_product_cudnn_attention_backward" => attention(1, 14, true),
            "_scaled_dot_product_flash_attention_for_cpu_backward" => attention(1, 7, true),
            "_flash_attention_forward" => attention(0, 8, false),
            "copy_" => Some(Self::Copy),
            "fill_" | "zero_" => Some(Self::Fill),
            _ => {
                let plain = name.strip_suffix('_').unwrap_or(name);
                if ELEMENTWISE.contains(&plain) {
                    Some(Self::Elementwise)
                } else {
                    COMPARISONS.contains(&plain).then_some(Self::Comparison)
                }
            }
        }
    }

    /// Whether the work depends on values of inputs that are not tensors.
    pub(crate) fn needs_values(self) -> bool {
        matches!(
            self,
            Self::Convolution
                | Self::PlainConvolution
                | Self::ConvolutionBackward
                | Self::Attention(_)
                | Self::ScaledProduct
        )
    }

    /// Returns the work of a call; `None` where the lists do not give it.
    pub(crate) fn cost(self, dims: &str, types: &str, values: &str) -> Option<Cost> {
        let inputs = Inputs::read(dims, types, values)?;
        let cost = match self {
            Self::Product(a, b) => inputs.product(a, b, None),
            Self::ScaledProduct => inputs.product(0, 1, inputs.element_size_of_code(6)),
            Self::Linear => inputs.linear(),
            Self::Convolution => inputs.convolution(true),
            Self::PlainConvolution => inputs.convolution(false),
            Self::ConvolutionBackward => inputs.convolution_backward(),
            Self::Attention(attention) => inputs.attention(attention),
            Self::Elementwise => inputs.elementwise(None),
            Self::Comparison => inputs.elementwise(Some(1.0)),
            Self::Copy => Some((0.0, inputs.tensor(0)?.bytes() + inputs.tensor(1)?.bytes())),
            Self::Fill => Some((0.0, inputs.tensor(0)?.bytes())),
        };
        let (flop, bytes) = cost?;
        let precision = inputs.first_precision();
        let is_work = flop.is_finite() && bytes.is_finite() && bytes > 0.0;
        is_work.then_some(Cost { flop, bytes, precision })
    }
}

/// One tensor among the inputs.
#[derive(Debug, Clone)]
struct Tensor {
    dims: Vec<f64>,
    element: f64,
    precision: Precision,
}

fn numel(dims: &[f64]) -> f64 {
    dims.iter().product()
}

impl Tensor {
    fn bytes(&self) -> f64 {
        numel(&self.dims) * self.element
    }
}

/// Inputs of one call.
struct Inputs {
    tensors: Vec<Option<Tensor>>,
    values: Vec<String>,
}

/// Returns the size of an element and the precision of a type as the profiler writes it.
fn element(name: &str) -> Option<(f64, Precision)> {
    Some(match name.strip_prefix("c10::").unwrap_or(name) {
        "double" => (8.0, Precision::Fp64),
        "float" => (4.0, Precision::Fp32),
        "Half" | "BFloat16" => (2.0, Precision::Fp16),
        "complex<double>" => (16.0, Precision::Other),
        "complex<float>" | "long int" | "long" | "int64_t" | "unsigned long" => (8.0, Precision::Other),
        "int" | "unsigned int" => (4.0, Precision::Other),
        "short" | "short int" | "unsigned short" => (2.0, Precision::Other),
        "signed char" | "qint8" | "quint8" => (1.0, Precision::Int8),
        "unsigned char" | "bool" => (1.0, Precision::Other),
        other if other.starts_with("Float8") => (1.0, Precision::Fp8),
        _ => return None,
    })
}

impl Inputs {
    fn read(dims: &str, types: &str, values: &str) -> Option<Self> {
        let dims: Vec<Value> = serde_json::from_str(dims).ok()?;
        let types: Vec<String> = serde_json::from_str(types).ok()?;
        let values: Vec<Value> = serde_json::from_str(values).unwrap_or_default();
        let tensor = |(dims, name): (&Value, &String)| {
            let (element, precision) = element(name)?;
            let dims: Option<Vec<f64>> = dims.as_array()?.iter().map(Value::as_f64).collect();
            let dims = dims.filter(|dims| dims.iter().all(|size| *size >= 0.0))?;
            Some(Tensor { dims, element, precision })
        };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(Self {
            tensors: dims.iter().zip(&types).map(tensor).collect(),
            values: values.iter().map(text).collect(),
        })
    }

    fn tensor(&self, index: usize) -> Option<&Tensor> {
        self.tensors.get(index)?.as_ref()
    }

    /// Precision of the first tensor.
    fn first_precision(&self) -> Precision {
        self.tensors.iter().flatten().next().map_or(Precision::Other, |tensor| tensor.precision)
    }

    fn value(&self, index: usize) -> Option<&str> {
        self.values.get(index).map(String::as_str)
    }

    fn flag(&self, index: usize) -> Option<bool> {
        match self.value(index)? {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        }
    }

    /// A list of whole numbers, one for each dimension; a single number stands for all.
    fn list(&self, index: usize, dimensions: usize) -> Option<Vec<f64>> {
        let list: Vec<f64> = serde_json::from_str(self.value(index)?).ok()?;
        match list[..] {
            [only] => Some(vec![only; dimensions]),
            _ => (list.len() == dimensions).then_some(list),
        }
    }

    /// Size of an element by PyTorch's number of a floating-point type.
    fn element_size_of_code(&self, index: usize) -> Option<f64> {
        match self.value(index)? {
            "5" | "15" => Some(2.0),
            "6" => Some(4.0),
            _ => None,
        }
    }

    /// Bytes of all tensors.
    fn bytes(&self) -> f64 {
        self.tensors.iter().flatten().map(Tensor::bytes).sum()
    }

    /// `a b`, with the rules of `matmul` for dimensions before the last two.
    fn product(&self, a: usize, b: usize, out_element: Option<f64>) -> Option<(f64, f64)> {
        let (a, b) = (self.tensor(a)?, self.tensor(b)?);
        let (batch_a, m, k) = match a.dims[..] {
            [k] => (&[][..], 1.0, k),
            [ref batch @ .., m, k] => (batch, m, k),
            [] => return None,
        };
        let (batch_b, k_b, n) = match b.dims[..] {
            [k] => (&[][..], k, 1.0),
            [ref batch @ .., k, n] => (batch, k, n),
            [] => return None,
        };
        let out = numel(&broadcast(batch_a, batch_b)?) * m * n;
        let bytes = self.bytes() + out * out_element.unwrap_or(a.element);
        (k == k_b).then_some((2.0 * out * k, bytes))
    }

    fn linear(&self) -> Option<(f64, f64)> {
        let (x, weight) = (self.tensor(0)?, self.tensor(1)?);
        let k = *x.dims.last()?;
        let n = match weight.dims[..] {
            [n, own] if own == k => n,
            [own] if own == k => 1.0,
            _ => return None,
        };
        let rows = numel(x.dims.get(..x.dims.len() - 1)?);
        Some((2.0 * rows * k * n, self.bytes() + rows * n * x.element))
    }

    /// Operations of a convolution whose output (of a transposed one: input) has so many elements.
    fn convolved(weight: &Tensor, elements: f64) -> Option<f64> {
        Some(2.0 * elements * numel(weight.dims.get(1..)?))
    }

    fn convolution(&self, can_be_transposed: bool) -> Option<(f64, f64)> {
        let (x, weight) = (self.tensor(0)?, self.tensor(1)?);
        let dimensions = weight.dims.len().checked_sub(2).filter(|count| *count > 0)?;
        let channels_at = x.dims.len().checked_sub(dimensions + 1)?;
        let batch = numel(x.dims.get(..channels_at)?);
        let spatial = x.dims.get(channels_at + 1..)?;
        let kernel = weight.dims.get(2..)?;
        let stride = self.list(3, dimensions)?;
        let dilation = self.list(5, dimensions)?;
        let padding = match self.value(4)? {
            "valid" => vec![0.0; dimensions],
            // The output is as large as the input.
            "same" => dilation.iter().zip(kernel).map(|(d, k)| d * (k - 1.0) / 2.0).collect(),
            _ => self.list(4, dimensions)?,
        };
        let is_transposed = can_be_transposed && self.flag(6)?;
        let mut positions = 1.0;
        for (axis, size) in spatial.iter().enumerate() {
            let (k, s) = (kernel.get(axis)?, stride.get(axis)?);
            let (p, d) = (padding.get(axis)?, dilation.get(axis)?);
            positions *= if is_transposed {
                let more = self.list(7, dimensions)?;
                (size - 1.0) * s - 2.0 * p + d * (k - 1.0) + more.get(axis)? + 1.0
            } else {
                ((size + 2.0 * p - d * (k - 1.0) - 1.0) / s).floor() + 1.0
            };
        }
        let groups: f64 = self.value(if can_be_transposed { 8 } else { 6 })?.parse().ok()?;
        let [first, second] = [weight.dims.first()?, weight.dims.get(1)?];
        let channels = if is_transposed { second * groups } else { *first };
        let out = batch * channels * positions;
        let of = if is_transposed { numel(&x.dims) } else { out };
        (positions > 0.0).then_some((Self::convolved(weight, of)?, self.bytes() + out * x.element))
    }

    fn convolution_backward(&self) -> Option<(f64, f64)> {
        let (out, x, weight) = (self.tensor(0)?, self.tensor(1)?, self.tensor(2)?);
        let of = if self.flag(7)? { &x.dims } else { &out.dims };
        let wanted: Vec<bool> = serde_json::from_str(&self.value(10)?.to_lowercase()).ok()?;
        let (input, of_weight) = (*wanted.first()?, *wanted.get(1)?);
        let once = Self::convolved(weight, numel(of))?;
        let count = f64::from(u8::from(input)) + f64::from(u8::from(of_weight));
        let written =
            f64::from(u8::from(input)) * x.bytes() + f64::from(u8::from(of_weight)) * weight.bytes();
        Some((once * count, out.bytes() + x.bytes() + weight.bytes() + written))
    }

    fn attention(&self, kind: Attention) -> Option<(f64, f64)> {
        let [query, key, value] = [0, 1, 2].map(|more| self.tensor(kind.query + more));
        let (query, key, value) = (query?, key?, value?);
        let [.., q1, q2, width] = query.dims[..] else { return None };
        let [.., k1, k2, key_width] = key.dims[..] else { return None };
        // Sequences of different lengths in one tensor have no dimension of the batch.
        if query.dims.len() < 4 || key_width != width {
            return None;
        }
        let batch = numel(query.dims.get(..query.dims.len() - 3)?);
        let (heads, from, to) = if kind.heads_first { (q1, q2, k2) } else { (q2, q1, k1) };
        let value_width = *value.dims.last()?;
        let seen = if self.flag(kind.causal)? {
            // Position i sees the first i + 1.
            let full = from.min(to);
            full * (full + 1.0) / 2.0 + (from - full) * to
        } else {
            from * to
        };
        let forward = 2.0 * batch * heads * seen * (width + value_width);
        let out = batch * heads * from * value_width * query.element;
        let read = query.bytes() + key.bytes() + value.bytes();
        // Backward: five products instead of two; reads the output and its gradient, and writes three gradients.
        let works = if kind.is_backward { 2.5 } else { 1.0 };
        Some((works * forward, if kind.is_backward { 2.0 * (read + out) } else { read + out }))
    }

    fn elementwise(&self, out_element: Option<f64>) -> Option<(f64, f64)> {
        let mut dims: Vec<f64> = Vec::new();
        let mut element = 0.0_f64;
        let mut any = false;
        for tensor in self.tensors.iter().flatten() {
            any = true;
            dims = broadcast(&dims, &tensor.dims)?;
            if !tensor.dims.is_empty() {
                element = element.max(tensor.element);
            }
        }
        let first = self.tensors.iter().flatten().next().filter(|_| any)?;
        let element = out_element.unwrap_or(if element > 0.0 { element } else { first.element });
        let out = numel(&dims);
        Some((out, self.bytes() + out * element))
    }
}

/// Returns the dimensions of what tensors of two shapes become together; `None` where they do not fit.
fn broadcast(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut out = long.to_vec();
    let offset = long.len() - short.len();
    for (size, other) in out.iter_mut().skip(offset).zip(short) {
        *size = match (*size, *other) {
            (own, other) if own == other => own,
            (1.0, other) => other,
            (own, 1.0) => own,
            _ => return None,
        };
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(name: &str, dims: &str, types: &[&str], values: &[&str]) -> Option<(f64, f64)> {
        let types = serde_json::to_string(types).unwrap();
        let values = serde_json::to_string(values).unwrap();
        let cost = Formula::of(name)?.cost(dims, &types, &values)?;
        Some((cost.flop, cost.bytes))
    }

    #[test]
    fn products_cost_two_operations_for_each_pair() {
        let float = ["float"; 3];
        assert_eq!(cost("aten::mm", "[[2,3],[3,5]]", &float, &[]), Some((60.0, 4.0 * 31.0)));
        assert_eq!(cost("aten::addmm", "[[5],[2,3],[3,5]]", &float, &[]), Some((60.0, 4.0 * 36.0)));
        assert_eq!(cost("aten::bmm", "[[7,2,3],[7,3,5]]", &float, &[]), Some((420.0, 4.0 * 7.0 * 31.0)));
        assert_eq!(cost("aten::linear", "[[7,2,3],[5,3],[5]]", &float, &[]), Some((420.0, 4.0 * 132.0)));
        // The batch of one is stretched to four.
        assert_eq!(cost("aten::matmul", "[[1,2,3],[4,3,5]]", &float, &[]), Some((240.0, 4.0 * 106.0)));
        assert_eq!(cost("aten::mm", "[[2,3],[4,5]]", &float, &[]), None);
        assert_eq!(cost("aten::mm", "[[2,3]", &float, &[]), None);
    }

    #[test]
    fn convolutions_cost_by_their_output() {
        let types = ["c10::Half", "c10::Half", "", "ScalarList", "ScalarList", "ScalarList", "Scalar"];
        let dims = "[[8,4,10,10],[6,4,3,3],[],[],[],[],[]]";
        let strided = cost("aten::conv2d", dims, &types, &["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1"]);
        assert_eq!(strided.unwrap().0, 2.0 * 8.0 * 6.0 * 25.0 * 36.0);
        let same = cost("aten::conv2d", dims, &types, &["", "", "", "[1, 1]", "same", "[1, 1]", "1"]);
        assert_eq!(same.unwrap().0, 2.0 * 8.0 * 6.0 * 100.0 * 36.0);
        let transposed = cost(
            "aten::convolution",
            "[[8,6,5,5],[6,4,3,3],[],[],[],[],[],[],[]]",
            &["float", "float", "", "", "", "", "", "", ""],
            &["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1"],
        );
        // From 5 to (5 - 1) * 2 - 2 + 2 + 1 + 1 = 10.
        let out = 8.0 * 4.0 * 100.0;
        assert_eq!(transposed, Some((2.0 * 1200.0 * 36.0, 4.0 * (1200.0 + 216.0 + out))));
        let backward = cost(
            "aten::convolution_backward",
            "[[8,6,5,5],[8,4,10,10],[6,4,3,3],[],[],[],[],[],[],[],[]]",
            &["float", "float", "float", "", "", "", "", "", "", "", ""],
            &[
                "",
                "",
                "",
                "[0]",
                "[2, 2]",
                "[1, 1]",
                "[1, 1]",
                "False",
                "[0, 0]",
                "1",
                "[False, True, False]",
            ],
        );
        assert_eq!(backward.unwrap().0, 2.0 * 1200.0 * 36.0);
    }

    #[test]
    fn attention_counts_what_a_causal_mask_leaves() {
        let types = ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar", "Scalar"];
        let dims = "[[2,8,16,64],[2,8,16,64],[2,8,16,64],[],[],[]]";
        let whole =
            cost("aten::scaled_dot_product_attention", dims, &types, &["", "", "", "", "0.", "False"]);
        assert_eq!(whole, Some((2.0 * 16.0 * 256.0 * 128.0, 4.0 * 2.0 * 16.0 * 16.0 * 64.0)));
        let causal =
            cost("aten::scaled_dot_product_attention", dims, &types, &["", "", "", "", "0.", "True"]);
        assert_eq!(causal.unwrap().0, 2.0 * 16.0 * 136.0 * 128.0);
    }

    #[test]
    fn elements_are_read_and_written_once() {
        let types = ["float", "float", "Scalar"];
        assert_eq!(cost("aten::add_", "[[4,1],[3],[]]", &types, &[]), Some((12.0, 4.0 * (4.0 + 3.0 + 12.0))));
        assert_eq!(cost("aten::gt", "[[4],[],[]]", &types, &[]), Some((4.0, 4.0 * 5.0 + 4.0)));
        assert_eq!(cost("aten::copy_", "[[4],[4],[]]", &["c10::Half", "float", ""], &[]), Some((0.0, 24.0)));
        assert_eq!(cost("aten::_foreach_add_", "[[[4]],[[4]],[]]", &types, &[]), None);
        assert_eq!(cost("aten::add", "[[2],[3],[]]", &types, &[]), None);
        assert_eq!(cost("aten::fill_", "[[0],[]]", &["float", "Scalar"], &[]), None, "nothing to do");
    }
}
