//! Modules and annotations of real traces. The figures are those that `modules.py` beside this file prints.

use crate::common::analyze;
use std::path::Path;

/// File, name, calls, host, self, backward host, device, device self and backward device in microseconds.
const EXPECTED: [(&str, &str, u64, [f64; 6]); 8] = [
    ("h100_bert.json.gz", "nn.Module: BertEncoder_0", 1, [3230.337, 108.942, 0.0, 233.182, 0.0, 0.0]),
    ("h100_bert.json.gz", "nn.Module: BertLayer_2", 1, [733.101, 67.641, 0.0, 57.601, 0.0, 0.0]),
    ("h100_bert.json.gz", "nn.Module: BertModel_0", 1, [3910.787, 254.214, 0.0, 257.341, 7.648, 0.0]),
    (
        "hta_nccl.json.gz",
        "DistributedDataParallel.forward",
        3,
        [308_452.28, 307_817.366, 150_715.231, 38_768.022, 38_653.688, 74_663.216],
    ),
    ("hta_nccl.json.gz", "Optimizer.step#SGD.step", 3, [44_275.16, 44_275.16, 0.0, 2078.278, 2078.278, 0.0]),
    ("hta_rank0.json.gz", "## forward ##", 2, [279_273.0, 135.0, 26_327.0, 188_749.0, 0.0, 93_037.0]),
    (
        "hta_rank0.json.gz",
        "Optimizer.step#Shampoo.step",
        2,
        [389_819.0, 389_552.0, 0.0, 111_698.0, 5558.0, 0.0],
    ),
    (
        "gen_100k.json.gz",
        "[pl][module]anemoi.models.layers.conv.GraphTransformerConv: model.encoder.proc.6.conv",
        45,
        [1778.583, 1778.583, 551.337, 1945.43, 1945.43, 1188.873],
    ),
];

pub(crate) fn modules_have_the_times_that_another_program_finds(traces: &Path) {
    for (file, name, calls, expected) in EXPECTED {
        let found = analyze(&traces.join(file), 2);
        let rows = knockout_analyze::Analysis::of(vec![found]).modules;
        let row = rows.iter().find(|row| row.name == name).unwrap();
        let figures = [
            row.host_us,
            row.host_self_us,
            row.backward_host_us,
            row.device_us,
            row.device_self_us,
            row.backward_device_us,
        ];
        assert_eq!(row.calls, calls, "{file} {name}");
        for (figure, expected) in figures.iter().zip(expected) {
            assert!((figure - expected).abs() < 0.002, "{file} {name}: {figures:?}");
        }
    }
}
