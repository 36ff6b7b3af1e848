//! What a solved process says of gene sets, from tables: a pair takes a few inner products of short rows, a triple of a known query
//! pair a look into a table.

use super::Setting;
use super::features::Features;
use super::field::{Fields, Queries};
use super::posterior::{PairVariance, TripleVariance};
use crate::grid::{Grid, Row, parts_of_triple};
use crate::matrix::{Matrix, dot, product};
use crate::model::SolveError;
use crate::pair_products::{Form, Rows};
use crate::tensor::{Tensor, tensor};
use knockout_data::cell::GeneSetsRef;

/// Tables of a solution.
pub(super) struct Answers {
    features: Features,
    grid: Grid,
    pairs: Option<Pairs>,
    triples: Option<Triples>,
}

struct Pairs {
    /// With the features of the other gene, half of what a pair is.
    tables: Matrix<f32>,
    /// Records of every gene.
    counts: Vec<f32>,
    variance: PairVariance,
}

struct Triples {
    rows: Vec<(u32, u32)>,
    /// For every gene as an array, what each row adds.
    answers: Matrix<f32>,
    /// The process at every gene and row.
    at_rows: Matrix<f32>,
    queries: Queries,
    row_counts: Vec<f32>,
    counts: Vec<f32>,
    variance: TripleVariance,
}

/// What several triples of the same two first genes share.
#[derive(Default)]
pub(super) struct Shared {
    of: Option<(u32, u32)>,
    /// The likeness of the two genes with every row.
    line: Vec<f32>,
    /// What a third gene's likeness with every gene of query pairs counts.
    third: Vec<f32>,
    /// What does not depend on a third gene.
    rest: f32,
}

impl Answers {
    /// The answers of a solution for fields.
    pub(super) fn of(
        mut fields: Fields,
        solution: &[f32],
        features: Features,
        grid: &Grid,
        setting: Setting,
    ) -> Self {
        let genes = features.genes();
        let (of_pairs, of_triples) = fields.split(solution);
        let spread = |places: &[u32], values: Vec<f32>| {
            let mut all = vec![0.0; genes];
            places.iter().zip(values).for_each(|(&gene, value)| all[gene as usize] = value);
            all
        };
        let pairs = fields.pairs.as_mut().map(|field| {
            let counts = spread(&field.genes, field.counts());
            (field.answers(of_pairs, &features), counts)
        });
        let triples = fields.triples.as_mut().map(|field| {
            let (row_counts, counts) = field.counts();
            (field.answers(of_triples, &features), row_counts, spread(&field.genes, counts))
        });
        drop(fields);
        Self::new(features, grid.clone(), setting, pairs, triples)
    }

    fn new(
        features: Features,
        grid: Grid,
        setting: Setting,
        pairs: Option<(Matrix<f32>, Vec<f32>)>,
        triples: Option<(Matrix<f32>, Vec<f32>, Vec<f32>)>,
    ) -> Self {
        let pairs = pairs.map(|(tables, counts)| {
            let variance = PairVariance::of(&features, setting, &counts);
            Pairs { tables, counts, variance }
        });
        let triples = triples.map(|(answers, row_counts, counts)| {
            let rows: Vec<(u32, u32)> = grid.pair_rows().collect();
            let queries = Queries::of(&rows, &features, setting.own, setting.single);
            let at_rows = product(&answers, &queries.kernel());
            let variance = TripleVariance::of(&features, setting, &rows, &row_counts, &counts);
            Triples { rows, answers, at_rows, queries, row_counts, counts, variance }
        });
        Self { features, grid, pairs, triples }
    }

    pub(super) fn genes(&self) -> usize {
        self.features.genes()
    }

    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The process at a set of ascending genes. Of a triple with a known pair only that way to take it apart counts, as in training;
    /// of any other the mean of all three.
    pub(super) fn value(&self, set: &[u32], shared: &mut Shared) -> f64 {
        match (set, &self.pairs, &self.triples) {
            (&[a, b], Some(pairs), _) => {
                let (a, b, features) = (a as usize, b as usize, &self.features.vectors);
                f64::from(
                    dot(pairs.tables.row(a), features.row(b)) + dot(pairs.tables.row(b), features.row(a)),
                )
            }
            (&[a, b, c], _, Some(triples)) => f64::from(match self.known(set, triples) {
                Some((row, gene)) => triples.at_rows.get(gene as usize, row),
                None => triples.unknown([a, b, c], shared),
            }),
            _ => 0.0,
        }
    }

    /// The process's own variance at a set.
    pub(super) fn variance(&self, set: &[u32]) -> f64 {
        match (set, &self.pairs, &self.triples) {
            (&[a, b], Some(pairs), _) => f64::from(pairs.variance.at(a, b)),
            (&[_, _, _], _, Some(triples)) => f64::from(match self.known(set, triples) {
                Some((row, gene)) => triples.variance.of_row(row, gene),
                None => parts_of_triple(set)
                    .into_iter()
                    .map(|(row, gene)| match row {
                        Row::Pair(a, b) => triples.variance.unknown(a, b, gene) / 3.0,
                        Row::Gene(_) => 0.0,
                    })
                    .sum(),
            }),
            _ => 0.0,
        }
    }

    /// The same for many sets.
    pub(super) fn variances(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let of_pairs = self.pairs.as_ref().map(|pairs| pairs.variance.of_sets(sets));
        let one = |(place, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => f64::from(of_pairs[place]),
            _ => self.variance(set),
        };
        sets.iter().enumerate().map(one).collect()
    }

    /// The process at pairs as a form, times a weight; `None` if training had no pairs.
    pub(super) fn form(&self, weight: f64) -> Option<Form<'_>> {
        self.pairs.as_ref().map(|pairs| Form {
            weight,
            x: Rows { table: &pairs.tables, place: &Some },
            y: Rows { table: &self.features.vectors, place: &Some },
        })
    }

    fn known(&self, set: &[u32], triples: &Triples) -> Option<(usize, u32)> {
        match self.grid.part_of_triple(set)? {
            (Row::Pair(a, b), gene) => Some((triples.rows.binary_search(&(a, b)).ok()?, gene)),
            (Row::Gene(_), _) => None,
        }
    }

    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let vector = |name: &str, values: &[f32]| Tensor::new(name, &[values.len()], values.to_vec());
        let mut tensors = self.features.tensors().to_vec();
        if let Some(pairs) = &self.pairs {
            tensors.push(Tensor::of("network_kernel.pairs", &pairs.tables));
            tensors.push(vector("network_kernel.pair_counts", &pairs.counts));
        }
        if let Some(triples) = &self.triples {
            tensors.push(Tensor::of("network_kernel.triples", &triples.answers));
            tensors.push(vector("network_kernel.row_counts", &triples.row_counts));
            tensors.push(vector("network_kernel.array_counts", &triples.counts));
        }
        tensors
    }

    pub(super) fn load(tensors: &[Tensor], genes: usize, setting: Setting) -> Result<Self, SolveError> {
        let grid = Grid::load(tensors, genes)?;
        let features = Features::load(tensors, genes)?;
        let vector =
            |name: &str, length: usize| tensor(tensors, name)?.of_length(length).map(<[f32]>::to_vec);
        let table = |name: &str, columns: usize| {
            let matrix = tensor(tensors, name)?.matrix_of(genes)?;
            let fits = matrix.columns() == columns;
            if fits { Ok(matrix) } else { Err(SolveError::Tensor { name: name.to_owned() }) }
        };
        let has = |name: &str| tensor(tensors, name).is_ok();
        let pairs = if has("network_kernel.pairs") {
            let tables = table("network_kernel.pairs", features.vectors.columns())?;
            Some((tables, vector("network_kernel.pair_counts", genes)?))
        } else {
            None
        };
        let triples = if has("network_kernel.triples") {
            let rows = grid.pair_rows().count();
            let answers = table("network_kernel.triples", rows)?;
            let counts = vector("network_kernel.array_counts", genes)?;
            Some((answers, vector("network_kernel.row_counts", rows)?, counts))
        } else {
            None
        };
        Ok(Self::new(features, grid, setting, pairs, triples))
    }
}

impl Triples {
    /// A triple none of whose pairs is a row. All that does not depend on the third gene is kept for the next.
    fn unknown(&self, [a, b, c]: [u32; 3], shared: &mut Shared) -> f32 {
        if shared.of != Some((a, b)) {
            shared.of = Some((a, b));
            self.queries.line(a, b, &mut shared.line);
            shared.third.clear();
            shared.third.resize(self.queries.kernel.columns(), 0.0);
            shared.rest = 0.0;
            let each = 0.25 * self.queries.single;
            for (fixed, array) in [(a, b), (b, a)] {
                let (fixed, answers) =
                    (self.queries.kernel.row(fixed as usize), self.answers.row(array as usize));
                for (&(x, y), answer) in self.queries.rows.iter().zip(answers) {
                    shared.third[y] += (0.5 * fixed[x] + each) * answer;
                    shared.third[x] += (0.5 * fixed[y] + each) * answer;
                    shared.rest += each * (fixed[x] + fixed[y]) * answer;
                }
            }
        }
        let c = c as usize;
        let (line, third) = (dot(&shared.line, self.answers.row(c)), &shared.third);
        (line + dot(third, self.queries.kernel.row(c)) + shared.rest) / 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

    /// Tables say what the fields say: of pairs, of triples of known query pairs and of others, in any order.
    #[test]
    fn tables_say_what_the_fields_say() {
        let mut rng = Rng::new(1, "answers");
        let genes = 12_u32;
        let mut numbers = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.normal() as f32).collect() };
        let rest = numbers(genes as usize).iter().map(|x| x.abs()).collect();
        let features =
            Features { vectors: Matrix::new(genes as usize, 3, numbers(3 * genes as usize)), rest };
        let mut sets = GeneSets::default();
        (1..genes).for_each(|b| (0..b).filter(|a| (a + b) % 3 > 0).for_each(|a| sets.push(&[a, b])));
        for (a, b) in [(0, 1), (0, 2), (3, 5)] {
            (6..genes).for_each(|array| sets.push(&[a, b, array]));
        }
        let grid = Grid::of(sets.view());
        let setting = Setting { own: 0.7, noise: 0.5, single: 0.4 };
        let scores = numbers(sets.view().len());
        let mut fields = Fields::of(&grid, sets.view(), &scores, &features, |_| true);
        fields.set(&features, setting.own, setting.single);
        let solution = numbers(fields.cells().map(super::super::field::Cells::len).sum());
        let mut asked = GeneSets::default();
        for c in 2..genes {
            for b in 1..c {
                asked.push(&[b, c]);
                (0..b).for_each(|a| asked.push(&[a, b, c]));
            }
        }
        let expected = fields.predict(&solution, &features, &grid, asked.view());
        let answers = Answers::of(fields, &solution, features, &grid, setting);
        let mut shared = Shared::default();
        for (set, expected) in asked.view().iter().zip(expected) {
            let found = answers.value(set, &mut shared);
            assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{set:?}: {found} {expected}");
            assert!(answers.variance(set) > 0.0);
        }
    }
}
