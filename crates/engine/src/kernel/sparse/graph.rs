//! Directed graphs as pairs of sparse matrices.

use super::Csr;

/// The adjacency of a directed graph in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Row = target, columns = sources.
    pub incoming: Csr,
    /// Row = source, columns = targets.
    pub outgoing: Csr,
    /// 1 / in-degree of each row, 0 where it has no incoming edge: the weights of mean aggregation.
    pub mean_weight: Vec<f64>,
}

impl Graph {
    /// Builds both directions from the targets of every source.
    pub fn from_outgoing(outgoing: Csr) -> Self {
        let incoming = outgoing.transposed();
        let weight = |row| match incoming.degree(row) {
            0 => 0.0,
            count => 1.0 / count as f64,
        };
        let mean_weight = (0..incoming.row_count()).map(weight).collect();
        Self { incoming, outgoing, mean_weight }
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.outgoing.row_count()
    }
}

/// The distinct edges of a graph with their multiplicities: the entries A that a reconstruction loss compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct DistinctEdges {
    /// Row = source.
    pub outgoing: Csr,
    /// Multiplicity of each entry of `outgoing`.
    pub outgoing_count: Vec<f32>,
    /// Row = target.
    pub incoming: Csr,
    /// Multiplicity of each entry of `incoming`.
    pub incoming_count: Vec<f32>,
}

impl DistinctEdges {
    /// Merges repeated edges and counts them.
    pub fn of(graph: &Graph) -> Self {
        let (outgoing, outgoing_count) = distinct(&graph.outgoing);
        let (incoming, incoming_count) = distinct(&graph.incoming);
        Self { outgoing, outgoing_count, incoming, incoming_count }
    }
}

fn distinct(csr: &Csr) -> (Csr, Vec<f32>) {
    let sorted: Vec<Vec<u32>> = (0..csr.row_count())
        .map(|row| {
            let mut columns: Vec<u32> = csr.row(row).map(|column| column as u32).collect();
            columns.sort_unstable();
            columns
        })
        .collect();
    let runs = |columns: &[u32]| columns.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
    let once =
        Csr::from_rows(&sorted.iter().map(|columns| runs(columns)).collect::<Vec<_>>(), csr.column_count());
    let mut counts = vec![0.0; once.entry_count()];
    for (row, columns) in sorted.iter().enumerate() {
        // The columns of a row rise through the bands, as the runs do.
        for ((position, _), run) in once.entries(row).zip(columns.chunk_by(|a, b| a == b)) {
            counts[position] = run.len() as f32;
        }
    }
    (once, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_counted() {
        let graph = Graph::from_outgoing(Csr::new(&[0, 3, 4, 4], &[1, 2, 1, 0], 3).unwrap());
        let target = DistinctEdges::of(&graph);
        assert_eq!(target.outgoing.row(0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(target.outgoing_count, [2.0, 1.0, 1.0]);
        assert_eq!(target.incoming_count, [1.0, 2.0, 1.0]);
        assert_eq!(graph.mean_weight, [1.0, 0.5, 1.0]);
    }
}
