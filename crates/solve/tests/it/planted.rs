//! Solved models on synthetic screens: scores of gene effects, a matrix of low rank, and modules of a network.

use knockout_base::error::Class;
use knockout_base::random::Rng;
use knockout_base::stats::pearson;
use knockout_data::cell::{Annotations, Cell, Edge, Features, GeneSets, GeneTable, Network, SelfLoops};
use knockout_solve::{
    Choice, LowRankOptions, NetworkKernelOptions, Problem, Records, Solution, SolveObserver, SolvedOptions,
    StackOptions, StackPart, Tensor,
};

const GENES: usize = 60;
const MODULES: usize = 6;

/// Modules of ten genes that the first network reflects and the second does not.
fn cell() -> Cell {
    cell_of(GENES)
}

fn cell_of(count: usize) -> Cell {
    let genes = GeneTable::from_systematic((0..count).map(|gene| format!("G{gene:03}"))).unwrap();
    let mut rng = Rng::new(0, "networks");
    let (mut modules, mut noise) = (Vec::new(), Vec::new());
    for a in 0..count as u32 {
        for b in 0..a {
            if a as usize % MODULES == b as usize % MODULES && rng.below(10) < 7 {
                modules.push(Edge::weighted(a, b, 0.5 + 0.5 * rng.unit() as f32));
            }
            if rng.below(10) == 0 {
                noise.push(Edge::new(a, b));
            }
        }
    }
    let network = |name: &str, edges| Network::from_edges(name, count, edges, SelfLoops::Refuse).unwrap().0;
    Cell::new(genes, vec![network("modules", modules), network("noise", noise)], None).unwrap()
}

/// The score without noise: effects of module pairs and genes.
fn truth(set: [u32; 2]) -> f64 {
    let mut rng = Rng::new(1, "truth");
    let genes: Vec<f64> = (0..GENES).map(|_| 0.3 * rng.normal()).collect();
    let pairs: Vec<f64> = (0..MODULES * MODULES).map(|_| rng.normal()).collect();
    let [a, b] = set.map(|gene| gene as usize % MODULES);
    set.iter().map(|&gene| genes[gene as usize]).sum::<f64>() + pairs[a.min(b) * MODULES + a.max(b)]
}

/// All pairs, with noise, in train, val and test; pairs with a new gene are not in train.
fn parts(is_new: impl Fn(u32) -> bool) -> [Records; 3] {
    let mut rng = Rng::new(2, "noise");
    let mut parts: [Records; 3] = Default::default();
    for b in 0..GENES as u32 {
        for a in 0..b {
            let draw = rng.below(10);
            let part = match (is_new(a) || is_new(b), draw) {
                (true, _) => 1 + draw % 2,
                (false, 0) => 1,
                (false, 1) => 2,
                _ => 0,
            };
            parts[part].sets.push(&[a, b]);
            parts[part].scores.push(truth([a, b]) + 0.3 * rng.normal());
        }
    }
    parts
}

fn solve<O: SolvedOptions>(options: &O, parts: &[Records; 3], cell: &Cell) -> (Box<dyn Solution>, f64) {
    let problem = Problem::new(cell, &parts[0], &parts[1]);
    let solution = options.solve(problem, &mut ()).unwrap();
    let predictions = solution.predict(parts[2].sets.view());
    // The restored solution predicts the same bits.
    let loaded = options.load(&solution.tensors(), cell).unwrap();
    assert_eq!(loaded.predict(parts[2].sets.view()), predictions);
    let correlation = pearson(&predictions, &parts[2].scores).unwrap_or(0.0);
    (solution, correlation)
}

fn chosen(solution: &dyn Solution, name: &str) -> f64 {
    solution.choices().iter().find(|choice| choice.name == name).unwrap_or_else(|| panic!("{name}")).value
}

#[test]
fn low_rank_recovers_the_planted_matrix_and_certifies_it() {
    let (cell, parts) = (cell(), parts(|_| false));
    let (solution, correlation) = solve(&LowRankOptions::default(), &parts, &cell);
    assert!(correlation > 0.85, "{correlation}");
    assert!(chosen(&*solution, "low_rank.relative_gap") <= 1e-6);
    assert!(chosen(&*solution, "low_rank.rank") >= 4.0);
}

#[test]
fn the_kernel_predicts_new_genes_from_their_network() {
    let (cell, parts) = (cell(), parts(|gene| gene >= 50));
    let (_, low_rank) = solve(&LowRankOptions::default(), &parts, &cell);
    let (solution, kernel) = solve(&NetworkKernelOptions::default(), &parts, &cell);
    assert!(kernel > low_rank + 0.2, "kernel {kernel}, low rank {low_rank}");
    assert!(chosen(&*solution, "network_kernel.weight.modules") > 0.9);
    let (_, stack) = solve(&StackOptions::default(), &parts, &cell);
    assert!(stack > kernel - 0.02, "stack {stack}, kernel {kernel}");
    // A network without information does not help.
    let blind = NetworkKernelOptions { networks: vec!["noise".to_owned()], ..Default::default() };
    let (_, blind) = solve(&blind, &parts, &cell);
    assert!(blind < kernel - 0.2, "{blind}");
}

/// The cell with annotations: terms that are the modules, and random terms.
fn annotated() -> Cell {
    let mut rng = Rng::new(4, "terms");
    let terms = || (0..MODULES).map(|term| format!("T{term}")).collect();
    let set = |name: &str, term_of: &mut dyn FnMut(u32) -> usize| {
        let pairs = (0..GENES as u32).map(|gene| (gene, term_of(gene) as u32)).collect();
        Annotations::new(name, GENES, terms(), pairs).unwrap()
    };
    let modules = set("complexes", &mut |gene| gene as usize % MODULES);
    let random = set("random", &mut |_| rng.below(MODULES));
    cell().with_annotations(vec![modules, random]).unwrap()
}

#[test]
fn annotations_predict_new_genes_if_networks_do_not() {
    let (cell, parts) = (annotated(), parts(|gene| gene >= 50));
    let options = |annotations: &[&str]| NetworkKernelOptions {
        networks: vec!["noise".to_owned()],
        annotations: annotations.iter().map(|&name| name.to_owned()).collect(),
        ..Default::default()
    };
    let (_, without) = solve(&options(&[]), &parts, &cell);
    let (solution, with) = solve(&options(&["complexes", "random"]), &parts, &cell);
    assert!(with > without + 0.2, "with {with}, without {without}");
    assert!(chosen(&*solution, "network_kernel.weight.annotations.complexes") > 0.5);
    assert_eq!(options(&["random"]).prior_knowledge(), ["annotations random"]);
    // Annotations that do not improve validation get no weight.
    let (solution, random) = solve(&options(&["random"]), &parts, &cell);
    assert!(random > without - 0.05, "{random}, {without}");
    assert_eq!(chosen(&*solution, "network_kernel.weight.annotations.random"), 0.0);
    let error = options(&["missing"]).check(&cell).unwrap_err().to_string();
    assert_eq!(error, "the dataset has no annotations \"missing\"; it has complexes, random");
}

#[test]
fn covariates_predict_the_effects_of_new_genes() {
    let mut rng = Rng::new(1, "truth");
    // The gene effects, which `truth` draws first.
    let effects: Vec<f32> = (0..GENES).map(|_| (0.3 * rng.normal()) as f32).collect();
    let features = Features::new(GENES, vec!["fitness".to_owned()], effects).unwrap();
    let cell = cell().with_features(Some(features)).unwrap();
    let parts = parts(|gene| gene >= 50);
    let with = LowRankOptions { covariates: vec!["fitness".to_owned()], ..Default::default() };
    let (_, without) = solve(&LowRankOptions::default(), &parts, &cell);
    let (solution, found) = solve(&with, &parts, &cell);
    assert!(found > without + 0.02, "with {found}, without {without}");
    assert!(chosen(&*solution, "additive.covariate.fitness") > 0.1);
    let stack = StackOptions { low_rank: with, ..Default::default() };
    assert_eq!(stack.prior_knowledge(), ["covariate fitness"]);
    let (_, stacked) = solve(&stack, &parts, &cell);
    let (_, plain) = solve(&StackOptions::default(), &parts, &cell);
    assert!(stacked > plain, "with {stacked}, without {plain}");
    let missing = LowRankOptions { covariates: vec!["missing".to_owned()], ..Default::default() };
    let error = missing.check(&cell).unwrap_err().to_string();
    assert_eq!(error, "the dataset has no feature \"missing\"; it has fitness");
}

#[test]
fn the_stack_is_as_good_as_its_parts() {
    let (cell, parts) = (cell(), parts(|_| false));
    let (_, low_rank) = solve(&LowRankOptions::default(), &parts, &cell);
    let (_, kernel) = solve(&NetworkKernelOptions::default(), &parts, &cell);
    let (_, stack) = solve(&StackOptions::default(), &parts, &cell);
    assert!(stack > low_rank.max(kernel) - 0.01, "stack {stack}, low rank {low_rank}, kernel {kernel}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (cell, parts) = (cell(), parts(|_| false));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&StackOptions::default(), &parts, &cell).0.tensors())
    };
    let one = run(1);
    assert!(one == run(2) && one == run(7));
}

#[test]
fn triples_are_completed_over_query_pairs_and_arrays() {
    let cell = cell();
    let mut rng = Rng::new(3, "triples");
    let effect: Vec<[f64; 2]> = (0..GENES).map(|_| [rng.normal(), rng.normal()]).collect();
    let mut parts: [Records; 3] = Default::default();
    for query in 0..8_u32 {
        for array in 16..GENES as u32 {
            let draw = rng.below(10);
            let (a, b) = (effect[2 * query as usize], effect[array as usize]);
            let part = &mut parts[draw.saturating_sub(7)];
            part.sets.push(&[2 * query, 2 * query + 1, array]);
            part.scores.push(a[0] * b[0] + a[1] * b[1] + 0.1 * rng.normal());
        }
    }
    let (solution, correlation) = solve(&LowRankOptions::default(), &parts, &cell);
    assert!(correlation > 0.8, "{correlation}");
    assert_eq!(chosen(&*solution, "low_rank.rows"), 8.0);
    let (_, stack) = solve(&StackOptions::default(), &parts, &cell);
    assert!(stack > 0.8, "{stack}");
}

#[test]
fn parts_without_information_are_rejected_by_every_model() {
    let cell = cell();
    let [train, val, _] = parts(|_| false);
    let rejected = |train: &Records, val: &Records| {
        let problem = Problem::new(&cell, train, val);
        let errors = [
            StackOptions::default().solve(problem, &mut ()).err().unwrap(),
            LowRankOptions::default().solve(problem, &mut ()).err().unwrap(),
            NetworkKernelOptions::default().solve(problem, &mut ()).err().unwrap(),
        ]
        .map(|error| (error.class(), error.to_string()));
        assert!(errors[0] == errors[1] && errors[0] == errors[2], "{errors:?}");
        errors[0].clone()
    };
    let empty = Records::default();
    let constant = |records: &Records| Records { scores: vec![0.5; records.scores.len()], ..records.clone() };
    let count = val.scores.len();
    for (train, val, class, message) in [
        (&empty, &val, Class::Failure, "the training part has no samples".to_owned()),
        (&train, &empty, Class::Request, "a validation part of 0 samples".to_owned()),
        (&constant(&train), &val, Class::Failure, "all training scores are equal".to_owned()),
        (&train, &constant(&val), Class::Request, format!("a validation part of {count} samples")),
    ] {
        let (found, text) = rejected(train, val);
        assert!(found == class && text.contains(&message), "{found:?}: {text}");
    }
}

#[test]
fn unknown_networks_are_rejected() {
    let unknown = NetworkKernelOptions { networks: vec!["string".to_owned()], ..Default::default() };
    let error = unknown.check(&cell()).unwrap_err();
    assert_eq!(error.class(), Class::Request);
    assert_eq!(error.to_string(), "the dataset has no network \"string\"; it has modules, noise");
}

#[test]
fn sets_of_any_size_have_finite_predictions() {
    let cell = cell();
    let [train, val, _] = parts(|_| false);
    // With one gene per sample there is no pair to complete, and only the ridge is left.
    let single = |records: &Records| Records {
        sets: records.sets.view().iter().map(|set| &set[..1]).collect(),
        scores: records.scores.clone(),
    };
    let (train, val) = (single(&train), single(&val));
    let problem = Problem::new(&cell, &train, &val);
    let solution = StackOptions::default().solve(problem, &mut ()).unwrap();
    let odd: GeneSets = [&[][..], &[3], &[3, 4], &[1, 2, 3], &[1, 2, 3, 4]].into_iter().collect();
    assert!(solution.predict(odd.view()).iter().all(|value| value.is_finite()));
}

/// Saves every state, as a run that is killed after each of them.
#[derive(Default)]
struct SavedStates {
    states: Vec<(&'static str, Vec<Tensor>)>,
    from: Vec<(&'static str, Vec<Tensor>)>,
}

impl SolveObserver for SavedStates {
    fn is_save_due(&mut self) -> bool {
        true
    }

    fn save(&mut self, part: &'static str, state: Vec<Tensor>) {
        self.states.push((part, state));
    }

    fn saved(&mut self, part: &'static str) -> Option<Vec<Tensor>> {
        self.from.iter().rev().find(|(of, _)| *of == part).map(|(_, state)| state.clone())
    }
}

#[test]
fn a_stack_that_was_stopped_anywhere_resumes_to_the_same_bits() {
    let (cell, parts) = (annotated(), parts(|_| false));
    let problem = Problem::new(&cell, &parts[0], &parts[1]);
    // Two mixtures are tried, with annotations and without.
    let network_kernel =
        NetworkKernelOptions { annotations: vec!["complexes".to_owned()], ..Default::default() };
    let options = StackOptions { network_kernel, ..Default::default() };
    let run = |from: &[(&'static str, Vec<Tensor>)]| {
        let mut observer = SavedStates { from: from.to_vec(), ..SavedStates::default() };
        let solution = options.solve(problem, &mut observer).unwrap();
        (solution.tensors(), observer.states)
    };
    let (whole, states) = run(&[]);
    assert!(states.iter().any(|(part, _)| *part == "low-rank"));
    assert!(states.iter().any(|(part, _)| *part == "network-kernel"));
    for end in (1..=states.len()).step_by(5).chain([states.len()]) {
        assert!(run(&states[..end]).0 == whole, "after {end} states");
    }
}

#[test]
fn screens_without_networks_or_with_one_pair_are_solved() {
    let genes = || GeneTable::from_systematic((0..GENES).map(|gene| format!("G{gene:03}"))).unwrap();
    let [train, val, test] = parts(|_| false);
    // No network, one without edges, and one in which most genes have no neighbours.
    let network = |edges| Network::from_edges("n", GENES, edges, SelfLoops::Refuse).unwrap().0;
    let cells = [
        Cell::new(genes(), Vec::new(), None).unwrap(),
        Cell::new(genes(), vec![network(Vec::new())], None).unwrap(),
        Cell::new(genes(), vec![network(vec![Edge::new(0, 1), Edge::new(10, 11), Edge::new(11, 12)])], None)
            .unwrap(),
    ];
    for cell in &cells {
        let (_, stack) = solve(&StackOptions::default(), &[train.clone(), val.clone(), test.clone()], cell);
        assert!(stack > 0.8, "{stack}");
    }
    // A few records of a single pair.
    let few = |count: usize| {
        let sets: GeneSets = (0..count).map(|_| &[1, 2][..]).collect();
        Records { sets, scores: (0..count).map(|i| i as f64).collect() }
    };
    let (train, val) = (few(5), few(4));
    let problem = Problem::new(&cells[2], &train, &val);
    let solution = StackOptions::default().solve(problem, &mut ()).unwrap();
    assert!((solution.predict(few(1).sets.view())[0] - 1.5).abs() < 1.0);
    let deviations = deviations(&*solution, &test.sets);
    assert!(deviations.iter().all(|sd| sd.is_finite() && *sd >= 0.0));
}

/// Returns the standard deviations around the predictions of a solution.
fn deviations(solution: &dyn Solution, sets: &GeneSets) -> Vec<f64> {
    let predictions = solution.predict(sets.view());
    solution.deviations(sets.view(), &predictions).unwrap()
}

fn difference<O: SolvedOptions>(cell: &Cell, once: &Records, twice: &Records, val: &Records) -> f64 {
    let predicted = |train: &Records| {
        let problem = Problem::new(cell, train, val);
        O::default().solve(problem, &mut ()).unwrap().predict(val.sets.view())
    };
    let differences = predicted(once).into_iter().zip(predicted(twice)).map(|(a, b)| b - a);
    differences.sum::<f64>() / val.scores.len() as f64
}

#[test]
fn repeated_pairs_with_different_scores_are_averaged() {
    let cell = cell();
    let [mut train, val, _] = parts(|_| false);
    let again = train.clone();
    for (set, score) in again.sets.view().iter().zip(&again.scores) {
        train.sets.push(set);
        train.scores.push(score + 1.0);
    }
    // All of them predict around the mean training score.
    for (found, expected) in [
        (difference::<LowRankOptions>(&cell, &again, &train, &val), 0.5),
        (difference::<NetworkKernelOptions>(&cell, &again, &train, &val), 0.5),
        (difference::<StackOptions>(&cell, &again, &train, &val), 0.5),
    ] {
        assert!((found - expected).abs() < 0.05, "{found} {expected}");
    }
}

/// Also if training has triples as well.
#[test]
fn the_prediction_of_a_pair_does_not_depend_on_the_batch() {
    fn check<O: SolvedOptions>(cell: &Cell, parts: &[Records; 3], sets: &GeneSets) {
        let (solution, _) = solve(&O::default(), parts, cell);
        let (all, of_all) = (solution.predict(sets.view()), deviations(&*solution, sets));
        for (i, set) in sets.view().iter().enumerate().step_by(7) {
            let alone: GeneSets = [set].into_iter().collect();
            assert_eq!(solution.predict(alone.view())[0].to_bits(), all[i].to_bits());
            assert_eq!(deviations(&*solution, &alone)[0].to_bits(), of_all[i].to_bits());
        }
    }
    let (cell, mut parts) = (cell(), parts(|gene| gene >= 55));
    let mut sets = GeneSets::default();
    for a in (0..GENES as u32).rev() {
        (a + 1..GENES as u32).for_each(|b| sets.push(&[a, b]));
        sets.push(&[a]);
    }
    for _ in 0..2 {
        check::<LowRankOptions>(&cell, &parts, &sets);
        check::<NetworkKernelOptions>(&cell, &parts, &sets);
        check::<StackOptions>(&cell, &parts, &sets);
        let mut rng = Rng::new(4, "triples beside");
        (20..GENES as u32).for_each(|array| {
            parts[0].sets.push(&[3, 4, array]);
            parts[0].scores.push(rng.normal());
            sets.push(&[3, 4, array]);
        });
    }
}

#[test]
fn deviations_are_calibrated_and_wider_for_new_genes() {
    let (cell, parts) = (cell(), parts(|gene| gene >= 50));
    for (solution, _) in [
        solve(&NetworkKernelOptions::default(), &parts, &cell),
        solve(&StackOptions::default(), &parts, &cell),
    ] {
        let test = &parts[2];
        let predictions = solution.predict(test.sets.view());
        let of_test = deviations(&*solution, &test.sets);
        let within = |times: f64| {
            let errors = predictions.iter().zip(&test.scores).map(|(a, b)| (a - b).abs());
            let inside = errors.zip(&of_test).filter(|(error, deviation)| *error <= times * **deviation);
            inside.count() as f64 / predictions.len() as f64
        };
        assert!((0.60..0.76).contains(&within(1.0)), "{}", within(1.0));
        let wide = within(solution.wide_interval().unwrap());
        assert!((0.91..0.99).contains(&wide), "{wide}");
        let pair = |a, b| deviations(&*solution, &[&[a, b][..]].into_iter().collect())[0];
        assert!(pair(55, 58) >= pair(1, 2));
    }
}

/// Genes of a class have equal profiles, and no network reflects the classes.
fn classes(seed: u64) -> [Records; 3] {
    const CLASSES: usize = 20;
    let mut rng = Rng::new(seed, "classes");
    let effects: Vec<f64> = (0..CLASSES * CLASSES).map(|_| rng.normal()).collect();
    let mut parts: [Records; 3] = Default::default();
    for b in 0..GENES {
        for a in 0..b {
            let (low, high) = ((a % CLASSES).min(b % CLASSES), (a % CLASSES).max(b % CLASSES));
            let part = &mut parts[rng.below(10).saturating_sub(7)];
            part.sets.push(&[a as u32, b as u32]);
            part.scores.push(effects[low * CLASSES + high] + 0.3 * rng.normal());
        }
    }
    parts
}

#[test]
fn profiles_improve_the_stack_if_classes_share_them() {
    use StackPart::{LowRank, NetworkKernel, ProfileKernel, ProfileNeighbours};
    let (cell, parts) = (cell(), classes(0));
    let with = |list: &[StackPart]| {
        solve(&StackOptions { parts: list.to_vec(), ..Default::default() }, &parts, &cell)
    };
    let (_, before) = with(&[LowRank, NetworkKernel]);
    let (_, neighbours) = with(&[LowRank, NetworkKernel, ProfileNeighbours]);
    let (whole, all) = with(&[LowRank, NetworkKernel, ProfileNeighbours, ProfileKernel]);
    assert!(neighbours > before + 0.01 && all > before + 0.03, "{before} {neighbours} {all}");
    assert!(chosen(&*whole, "stack.weight.profile_kernel") > 0.1);
    // A part that is left out has the weight 0, and nothing is stored of it.
    let (without, _) = with(&[LowRank, NetworkKernel]);
    for part in ["profile_neighbours", "profile_kernel"] {
        assert_eq!(chosen(&*without, &format!("stack.weight.{part}")), 0.0);
        assert!(!without.tensors().iter().any(|tensor| tensor.name.starts_with(part)));
        assert!(whole.tensors().iter().any(|tensor| tensor.name.starts_with(part)));
    }
    let (alone, _) = with(&[]);
    for part in ["low_rank", "network_kernel", "profile_neighbours", "profile_kernel"] {
        assert_eq!(chosen(&*alone, &format!("stack.weight.{part}")), 0.0);
    }
}

#[test]
fn pure_noise_is_predicted_by_its_mean() {
    let cell = cell();
    let mut found = Vec::new();
    for seed in 0..4 {
        let mut rng = Rng::new(seed, "pure noise");
        let mut parts = classes(seed);
        parts.iter_mut().flat_map(|part| &mut part.scores).for_each(|score| *score = rng.normal());
        let (solution, _) = solve(&StackOptions::default(), &parts, &cell);
        let weights =
            solution.choices().into_iter().filter(|choice| choice.name.starts_with("stack.weight."));
        let parts = weights.filter(|choice| !choice.name.ends_with("intercept"));
        found.push(parts.map(|choice| choice.value).fold(0.0, f64::max));
    }
    assert!(found.iter().all(|&weight| weight == 0.0), "{found:?}");
}

#[test]
fn a_sparse_screen_gains_and_loses_nothing_by_profiles() {
    let cell = cell();
    let [train, val, test] = parts(|_| false);
    // One training record in ten: most genes share fewer than three partners.
    let tenth = |records: &Records| {
        let mut kept = Records::default();
        for (set, &score) in records.sets.view().iter().zip(&records.scores).step_by(10) {
            kept.sets.push(set);
            kept.scores.push(score);
        }
        kept
    };
    let parts = [tenth(&train), val, test];
    let before =
        StackOptions { parts: vec![StackPart::LowRank, StackPart::NetworkKernel], ..StackOptions::default() };
    let (_, before) = solve(&before, &parts, &cell);
    let (_, now) = solve(&StackOptions::default(), &parts, &cell);
    assert!((now - before).abs() < 0.03, "{before} {now}");
}

/// Earlier versions stored four weights, for all sets, and no profiles.
#[test]
fn a_stack_of_an_earlier_version_is_loaded() {
    let (cell, parts) = (cell(), parts(|gene| gene >= 50));
    let options =
        StackOptions { parts: vec![StackPart::LowRank, StackPart::NetworkKernel], ..Default::default() };
    let (now, _) = solve(&options, &parts, &cell);
    let weights = [0.25, 0.5, 0.75, 1.5];
    let mut tensors = now.tensors();
    tensors.retain(|tensor| tensor.name != "stack.new_weights");
    let stored = tensors.iter_mut().find(|tensor| tensor.name == "stack.weights").unwrap();
    (stored.shape, stored.values) = (vec![4], weights.map(|weight| weight as f32).to_vec());
    let before = StackOptions::default().load(&tensors, &cell).unwrap();
    let problem = Problem::new(&cell, &parts[0], &parts[1]);
    let low_rank = LowRankOptions::default().solve(problem, &mut ()).unwrap();
    let kernel = NetworkKernelOptions::default().solve(problem, &mut ()).unwrap();
    let sets = parts[2].sets.view();
    let additive: Vec<f64> = {
        let mut tensors = low_rank.tensors();
        for tensor in tensors.iter_mut().filter(|tensor| tensor.name.starts_with("low_rank.left")) {
            tensor.values.fill(0.0);
        }
        LowRankOptions::default().load(&tensors, &cell).unwrap().predict(sets)
    };
    let (sums, kernel) = (low_rank.predict(sets), kernel.predict(sets));
    for (i, found) in before.predict(sets).into_iter().enumerate() {
        let expected = weights[0]
            + weights[1] * additive[i]
            + weights[2] * (sums[i] - additive[i])
            + weights[3] * kernel[i];
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
}

/// The interactions of a gene are proportional to its amplitude, which the feature determines.
#[test]
fn amplitudes_are_used_if_features_determine_them() {
    let mut rng = Rng::new(5, "amplitudes");
    let fitness: Vec<f32> = (0..GENES).map(|_| rng.normal() as f32).collect();
    let unrelated: Vec<f32> = (0..GENES).map(|_| rng.normal() as f32).collect();
    let amplitude: Vec<f64> = fitness.iter().map(|&fitness| (-0.8 * f64::from(fitness)).exp()).collect();
    let mut parts = parts(|gene| gene >= 48);
    for part in &mut parts {
        for (set, score) in part.sets.view().iter().zip(&mut part.scores) {
            *score = 0.3 * rng.normal()
                + set.iter().map(|&gene| amplitude[gene as usize]).product::<f64>() * truth([set[0], set[1]]);
        }
    }
    let cell = |values: &[f32]| {
        let features = Features::new(GENES, vec!["fitness".to_owned()], values.to_vec()).unwrap();
        cell().with_features(Some(features)).unwrap()
    };
    let without = StackOptions { amplitudes: Vec::new(), ..Default::default() };
    let (_, before) = solve(&without, &parts, &cell(&fitness));
    let (solution, with) = solve(&StackOptions::default(), &parts, &cell(&fitness));
    assert!(with > before + 0.02, "with {with}, without {before}");
    assert!(chosen(&*solution, "network_kernel.amplitude.fitness") < -0.3);
    assert!(solution.tensors().iter().any(|tensor| tensor.name == "network_kernel.amplitudes"));
    // The kernel by itself does not use them.
    let (kernel, _) = solve(&NetworkKernelOptions::default(), &parts, &cell(&fitness));
    assert!(!kernel.tensors().iter().any(|tensor| tensor.name == "network_kernel.amplitudes"));
    // A feature without information is left out, or changes little.
    let (_, plain) = solve(&StackOptions::default(), &parts, &cell(&unrelated));
    assert!((plain - before).abs() < 0.05, "{plain} {before}");
    let missing = StackOptions { amplitudes: vec!["size".to_owned()], ..Default::default() };
    let error = missing.check(&cell(&fitness)).unwrap_err().to_string();
    assert_eq!(error, "the dataset has no feature \"size\"; it has fitness");
}

#[test]
fn a_stack_with_amplitudes_that_was_stopped_resumes_to_the_same_bits() {
    let mut rng = Rng::new(6, "fitness");
    let values = (0..GENES).map(|_| rng.normal() as f32).collect();
    let features = Features::new(GENES, vec!["fitness".to_owned()], values).unwrap();
    let cell = cell().with_features(Some(features)).unwrap();
    let parts = parts(|_| false);
    let problem = Problem::new(&cell, &parts[0], &parts[1]);
    let run = |from: &[(&'static str, Vec<Tensor>)]| {
        let mut observer = SavedStates { from: from.to_vec(), ..SavedStates::default() };
        let solution = StackOptions::default().solve(problem, &mut observer).unwrap();
        (solution.tensors(), observer.states)
    };
    let (whole, states) = run(&[]);
    for end in (1..=states.len()).step_by(7).chain([states.len()]) {
        assert!(run(&states[..end]).0 == whole, "after {end} states");
    }
}

/// Noise alone: the mean training score is the answer, whatever the seed.
#[test]
fn noise_gets_no_weights() {
    let cell = cell();
    for seed in 0..8 {
        let mut rng = Rng::new(seed, "only noise");
        let mut parts: [Records; 2] = Default::default();
        for b in 0..40_u32 {
            for a in 0..b {
                let part = &mut parts[usize::from(rng.below(10) == 0)];
                part.sets.push(&[a, b]);
                part.scores.push(1.0 + rng.normal());
            }
        }
        let problem = Problem::new(&cell, &parts[0], &parts[1]);
        let solution = StackOptions::default().solve(problem, &mut ()).unwrap();
        for name in ["additive", "low_rank", "network_kernel", "profile_neighbours", "profile_kernel"] {
            assert_eq!(chosen(&*solution, &format!("stack.weight.{name}")), 0.0, "{name}, seed {seed}");
        }
        let mean = parts[0].scores.iter().sum::<f64>() / parts[0].scores.len() as f64;
        assert!((chosen(&*solution, "stack.weight.intercept") - mean).abs() < 1e-6);
    }
}

/// Triples of few query pairs, each with an effect of its own: new query pairs are predicted around the mean training score.
#[test]
fn a_few_new_query_pairs_do_not_shift_the_others() {
    let genes = GeneTable::from_systematic((0..84).map(|gene| format!("G{gene:03}"))).unwrap();
    let cell = Cell::new(genes, Vec::new(), None).unwrap();
    let mut rng = Rng::new(3, "query pairs");
    let arrays: Vec<f64> = (0..60).map(|_| 0.1 * rng.normal()).collect();
    let mut parts: [Records; 3] = Default::default();
    for query in 0..12_u32 {
        let effect = 0.2 * rng.normal();
        for array in 0..60_u32 {
            let part = &mut parts[match query {
                0..10 => 0,
                10 => 1,
                _ => 2,
            }];
            part.sets.push(&[array, 60 + 2 * query, 61 + 2 * query]);
            part.scores.push(effect + arrays[array as usize] + 0.1 * rng.normal());
        }
    }
    let (solution, _) = solve(&StackOptions::default(), &parts, &cell);
    let mean = parts[0].scores.iter().sum::<f64>() / parts[0].scores.len() as f64;
    let error = |predicted: &dyn Fn(usize) -> f64| -> f64 {
        parts[2].scores.iter().enumerate().map(|(i, score)| (score - predicted(i)).powi(2)).sum()
    };
    let predictions = solution.predict(parts[2].sets.view());
    let (own, of_mean) = (error(&|i| predictions[i]), error(&|_| mean));
    assert!(own < of_mean, "{own} {of_mean}");
}

/// Pairs of 125 genes in five classes. Scores are those of two classes, twice as strong if both genes are sick: only trees can find this.
fn sick_pairs() -> (Cell, [Records; 3]) {
    const GENES: u32 = 125;
    let is_sick = |gene: u32| gene.is_multiple_of(3);
    let mut rng = Rng::new(5, "sick pairs");
    let classes: Vec<f64> = (0..25).map(|_| rng.normal()).collect();
    let mut parts: [Records; 3] = Default::default();
    for b in 0..GENES {
        for a in 0..b {
            let strength = if is_sick(a) && is_sick(b) { 2.0 } else { 1.0 };
            let (low, high) = ((a % 5).min(b % 5), (a % 5).max(b % 5));
            let part = &mut parts[rng.below(10).saturating_sub(7)];
            part.sets.push(&[a, b]);
            part.scores.push(strength * classes[(5 * low + high) as usize] + 0.5 * rng.normal());
        }
    }
    let fitness = (0..GENES).map(|gene| if is_sick(gene) { 0.5 } else { 1.0 }).collect();
    let features = Features::new(GENES as usize, vec!["fitness".to_owned()], fitness).unwrap();
    (cell_of(GENES as usize).with_features(Some(features)).unwrap(), parts)
}

#[test]
fn trees_add_to_the_parts_that_they_start_from() {
    let (cell, parts) = sick_pairs();
    let problem = Problem::new(&cell, &parts[0], &parts[1]);
    assert!(parts[0].scores.len() > 5_000, "trees need records");
    let solve = |options: &StackOptions, settings: &[Choice]| {
        let solution = options.solve(Problem { settings, ..problem }, &mut ()).unwrap();
        let predictions = solution.predict(parts[2].sets.view());
        let found = pearson(&predictions, &parts[2].scores).unwrap();
        (solution, predictions, found)
    };
    let mut without = StackOptions::default();
    without.parts.retain(|part| *part != StackPart::Trees);
    let (_, _, of_parts) = solve(&without, &[]);
    let (solution, predictions, found) = solve(&StackOptions::default(), &[]);
    assert!(found > of_parts + 0.01, "{found} with trees, {of_parts} without");
    assert!(chosen(&*solution, "stack.weight.trees") > 0.5);

    // Terms add up to the prediction, and what the trees add is smaller than the parts that they start from.
    let (mut of_trees, mut of_others) = (0.0, 0.0);
    for (set, prediction) in parts[2].sets.view().iter().zip(&predictions) {
        let terms = solution.terms(set).unwrap();
        let sum: f64 = terms.iter().map(|term| term.contribution).sum();
        assert!((sum - prediction).abs() < 1e-4, "{set:?}: {sum} {prediction}");
        let trees = terms.iter().find(|term| term.part == "trees").unwrap().contribution;
        of_trees += trees * trees;
        of_others += (sum - trees).powi(2);
    }
    assert!(of_trees > 0.0 && of_trees < 0.3 * of_others, "{of_trees} {of_others}");
    assert!(!solution.similar_profiles(parts[2].sets.get(0), &parts[0]).is_empty());

    // A loaded solution predicts the same, and so does one that is solved with the chosen settings.
    let loaded = StackOptions::default().load(&solution.tensors(), &cell).unwrap();
    assert_eq!(loaded.predict(parts[2].sets.view()), predictions);
    let (_, again, _) = solve(&StackOptions::default(), &solution.choices());
    let alike = pearson(&predictions, &again).unwrap();
    assert!(alike > 0.99, "{alike}");
}

/// Settings of a solution are used as they are: solving again with them gives nearly the same predictions without a search.
#[test]
fn settings_of_a_solution_are_used_again() {
    let (cell, parts) = (cell(), parts(|gene| gene % 10 == 3));
    for options in [
        StackOptions::default(),
        StackOptions { parts: vec![StackPart::NetworkKernel], ..StackOptions::default() },
    ] {
        let problem = Problem::new(&cell, &parts[0], &parts[1]);
        let solution = options.solve(problem, &mut ()).unwrap();
        let settings = solution.choices();
        let again = options.solve(Problem { settings: &settings, ..problem }, &mut ()).unwrap();
        let (first, second) = (solution.predict(parts[2].sets.view()), again.predict(parts[2].sets.view()));
        assert!(pearson(&first, &second).unwrap() > 0.999);
        for name in ["stack.weight.additive", "stack.new_weight.network_kernel", "network_kernel.noise"] {
            assert_eq!(chosen(&*solution, name), chosen(&*again, name), "{name}");
        }
    }
}
