//! Prints the trace of one rank of a generated data-parallel job, to measure how analyses grow with the number of ranks and events:
//! `job RANK RANKS EVENTS | gzip -1 > rank0.json.gz`.
//!
//! Every step loads data for 5 ms, launches operators with a kernel each, waits in all-reduces and takes an optimiser step. Rank 13
//! loads for 20 ms longer, so it arrives last in all collectives and the others wait 20 ms in each step.

use knockout_trace::TraceWriter;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write as _};

const STEPS: u64 = 20;
const LATE_RANK: u64 = 13;
const LOADING: u64 = 5_000_000;
const LATE: u64 = 20_000_000;
/// Time of an operator on the host, and of its kernel.
const OPERATOR: u64 = 12_000;
const KERNEL: u64 = 9_000;
/// Operators of a module.
const MODULE: u64 = 100;
const EXCHANGES: u64 = 16;
const TRANSFER: u64 = 200_000;
const OPTIMISER: u64 = 2_000_000;

/// The events of a rank, in order.
struct Rank<W: io::Write> {
    writer: TraceWriter<W>,
    text: String,
    number: u64,
    correlation: u64,
}

impl<W: io::Write> Rank<W> {
    fn span(&mut self, cat: &str, name: &str, [pid, tid]: [u64; 2], [from, to]: [u64; 2], args: &str) {
        let micros = |nanos: u64| format!("{}.{:03}", nanos / 1000, nanos % 1000);
        self.text.clear();
        let written = write!(
            self.text,
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{},"dur":{},"args":{{{args}}}}}"#,
            micros(from),
            micros(to - from)
        );
        written.expect("text can be appended to");
    }

    fn host(&mut self, cat: &str, name: &str, times: [u64; 2], args: &str) -> io::Result<()> {
        self.span(cat, name, [40_000 + self.number, 1], times, args);
        self.writer.raw(&self.text)
    }

    /// A launch call and the device event that it launches.
    fn device(&mut self, name: &str, call: u64, stream: u64, times: [u64; 2], more: &str) -> io::Result<()> {
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.host("cuda_runtime", "cudaLaunchKernel", [call, call + 4_000], &args)?;
        let args = format!(r#""device":0,"stream":{stream},{args}{more}"#);
        self.span("kernel", name, [0, stream], times, &args);
        self.writer.raw(&self.text)
    }

    fn step(&mut self, step: u64, operators: u64) -> io::Result<()> {
        let late = if self.number == LATE_RANK { LATE } else { 0 };
        let compute = operators * OPERATOR;
        let length = LOADING + LATE + compute + EXCHANGES * (TRANSFER + 20_000) + OPTIMISER + 100_000;
        let begin = 1_000_000_000 + step * length;
        self.host("user_annotation", &format!("ProfilerStep#{step}"), [begin, begin + length], "")?;
        let loaded = begin + LOADING + late;
        let loading = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
        self.host("user_annotation", loading, [begin, loaded], "")?;
        self.host("user_annotation", "## forward ##", [loaded, loaded + compute], "")?;
        for operator in 0..operators {
            let at = loaded + operator * OPERATOR;
            let module = operator / MODULE;
            if operator.is_multiple_of(MODULE) {
                let last = operators.min(operator + MODULE) - operator;
                let times = [at, at + last * OPERATOR];
                self.host("python_function", &format!("nn.Module: Block_{}", module % 48), times, "")?;
            }
            let rows = 64 << (module % 6);
            let args = format!(r#""Input Dims":[[{rows},512],[512,512]],"Input type":["float","float"]"#);
            self.host("cpu_op", "aten::linear", [at, at + 11_000], "")?;
            self.host("cpu_op", "aten::mm", [at + 1_000, at + 10_000], &args)?;
            let name = format!("void gemm_kernel<{}, {}>(float*)", module % 48, operator % 4);
            let noise = (operator * 7 + step * 13 + self.number * 5) % 1_000;
            let start = at + 6_000;
            self.device(&name, at + 2_000, 7, [start, start + KERNEL + noise], "")?;
        }
        // All ranks end an all-reduce together: after the last one has arrived.
        let last = begin + LOADING + LATE + compute;
        let ready = loaded + compute;
        let mut arrival = ready + 10_000;
        for exchange in 0..EXCHANGES {
            let own = if late > 0 { last + exchange * (TRANSFER + 20_000) + 20_000 } else { arrival };
            let end = last + (exchange + 1) * (TRANSFER + 20_000);
            let more = format!(
                r#","Collective name":"allreduce","Process Group Name":"0","Group size":64,"dtype":"Float","In msg nelems":1048576,"Out msg nelems":1048576,"Seq":{}"#,
                step * EXCHANGES + exchange
            );
            let call = ready + exchange * 5_000;
            self.device(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                call,
                20,
                [own, end],
                &more,
            )?;
            arrival = end;
        }
        let waited = last + EXCHANGES * (TRANSFER + 20_000);
        self.host("cuda_runtime", "cudaDeviceSynchronize", [ready + EXCHANGES * 5_000, waited], "")?;
        self.host("user_annotation", "Optimizer.step#AdamW.step", [waited, waited + OPTIMISER], "")
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<u64>, _>>()?;
    let [number, ranks, events] = numbers[..] else { return Err("usage: job RANK RANKS EVENTS".into()) };
    // An operator has four events and its part of a module's span; a step has its own, and two for each exchange.
    let operators = (events / STEPS).saturating_sub(5 + 2 * EXCHANGES) * MODULE / (4 * MODULE + 1);
    let out = BufWriter::new(io::stdout().lock());
    let mut rank = Rank { writer: TraceWriter::new(out)?, text: String::new(), number, correlation: 0 };
    for step in 0..STEPS {
        rank.step(step, operators)?;
    }
    let distributed: Value = json!({"backend": "nccl", "rank": number, "world_size": ranks});
    rank.writer.finish([("distributedInfo", &distributed)].into_iter())?.flush()?;
    Ok(())
}
