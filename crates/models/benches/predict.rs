//! Triples of the synthetic yeast in full, scored by DANGO's tables on one thread: neighbours that share two genes, as candidates
//! are, and triples at random; and what the forward pass takes.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSets;
use knockout_engine::grad::Tape;
use knockout_models::{Dango, DangoNetwork, Input, Model, SelfLoopChoice};
use knockout_sources::synth::{SynthConfig, synthesise};

const COUNT: usize = 1 << 15;

fn score(criterion: &mut Criterion) {
    let mut config = SynthConfig::preset("yeast").expect("a preset");
    config.screen.samples = 1_000;
    let dataset = synthesise(&config, 0, "yeast", "cargo bench", &|_| ()).expect("the preset is sound");
    let genes = dataset.cell.genes().len() as u32;
    let networks = dataset.cell.networks().iter().filter(|network| network.name().starts_with("string"));
    let networks = networks.map(|network| DangoNetwork::of(network, SelfLoopChoice::AsStored, 0.1)).collect();
    let model = Dango::<f32>::new(genes as usize, networks, 64, 4, 0);
    let mut neighbours = GeneSets::default();
    for at in 0..COUNT as u32 {
        neighbours.push(&[10, 11 + at / 6_000, 20 + at % 6_000]);
    }
    let (mut random, mut rng) = (GeneSets::default(), Rng::new(0, "predict bench"));
    for _ in 0..COUNT {
        random.push_sorted(&[0, 1, 2].map(|_| rng.below(genes as usize) as u32));
    }
    let fixed = model.fixed().expect("the kernels handle the shape");
    let mut group = criterion.benchmark_group("dango triples");
    group.sample_size(10).throughput(Throughput::Elements(COUNT as u64));
    for (name, sets) in [("neighbours", &neighbours), ("random", &random)] {
        let mut out = vec![0.0; COUNT];
        group.bench_function(name, |bencher| bencher.iter(|| fixed.score(sets.view(), &mut out)));
    }
    group.bench_function("forward pass", |bencher| {
        let input = Input::evaluated(random.view(), &Graphs::None);
        bencher.iter_batched(
            || Tape::new(model.parameters()),
            |mut tape| Model::forward(&model, &mut tape, input).predictions,
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, score);
criterion_main!(benches);
