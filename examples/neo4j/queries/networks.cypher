// Edges between genes, by type. The graph of torchcell has none (its networks come from STRING, SGD and TFLink):
// this is for graphs that have gene nodes, such as others made with BioCypher.
MATCH (a:Gene)-[edge]->(b:Gene)
RETURN type(edge) AS network, a.id AS source, b.id AS target
ORDER BY network, source, target;
