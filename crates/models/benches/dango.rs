//! A step of DANGO on the synthetic yeast in full, batch 64.

use criterion::{Criterion, criterion_group, criterion_main};
use knockout_engine::grad::{AdamW, AdamWConfig, Gradients, Tape};
use knockout_models::{Dango, DangoNetwork, LossPosition, Model, SelfLoopChoice};
use knockout_sources::synth::{SynthConfig, synthesise};

fn step(criterion: &mut Criterion) {
    let mut config = SynthConfig::preset("yeast").expect("a preset");
    config.screen.samples = 10_000;
    let dataset = synthesise(&config, 0, "yeast", "cargo bench", &|_| ()).expect("the preset is sound");
    let networks = dataset.cell.networks().iter().filter(|network| network.name().starts_with("string"));
    let networks = networks.map(|network| DangoNetwork::of(network, SelfLoopChoice::AsStored, 0.1)).collect();
    let mut model = Dango::<f32>::new(dataset.cell.genes().len(), networks, 64, 4, 0);
    let mut optimiser = AdamW::new(AdamWConfig::default(), model.parameters());
    let mut gradients = Gradients::zeros(model.parameters());
    let sets = dataset.samples.gene_sets().first(64);
    let targets: Vec<f32> = dataset.samples.scores()[..64].iter().map(|&score| score as f32).collect();
    for (name, alpha) in [("with reconstruction", 0.5), ("without", 0.0)] {
        criterion.bench_function(&format!("dango step {name}"), |bencher| {
            bencher.iter(|| {
                let mut tape = Tape::new(model.parameters());
                let forward = model.forward(&mut tape, sets);
                let loss =
                    model.loss_with(&mut tape, &forward.outputs(), &targets, alpha, LossPosition::default());
                gradients.clear();
                tape.backward(loss.total, &mut gradients);
                let norm = gradients.norm();
                optimiser.update(
                    model.parameters_mut(),
                    &gradients,
                    1e-5,
                    knockout_engine::grad::clip_factor(norm, 10.0),
                );
            });
        });
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = step }
criterion_main!(benches);
