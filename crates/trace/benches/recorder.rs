//! What recording costs: a span while nothing is recorded, a span that is kept, and a look at the process's memory.

use criterion::{Criterion, criterion_group, criterion_main};
use knockout_trace::{RecordState, Recorder, RecorderOptions, ResidentMemory};
use std::hint::black_box;

/// Spans between two looks at the room that is left; a step has about as many.
const SPANS: usize = 100;

fn recorder(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recorder");
    group.throughput(criterion::Throughput::Elements(SPANS as u64));
    for (name, recorder) in [("off", Recorder::off()), ("on", Recorder::new(RecorderOptions::default()))] {
        recorder.set_state(RecordState::Record);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for at in 0..SPANS {
                    let span = recorder.span(black_box("forward/layer")).shape(&[64, at]).bytes(4096);
                    black_box(&span);
                }
                // As the writer does between steps.
                if recorder.is_half_full() {
                    black_box(recorder.drain());
                }
            });
        });
    }
    group.finish();
    criterion.bench_function("resident memory", |bencher| {
        let memory = ResidentMemory::open();
        bencher.iter(|| black_box(memory.bytes()));
    });
}

criterion_group!(benches, recorder);
criterion_main!(benches);
