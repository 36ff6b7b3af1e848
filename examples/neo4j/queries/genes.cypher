// The genes of all perturbations. A gene table of the genome (SGD) is better: it has the genes that were never perturbed, too.
MATCH (perturbation:Perturbation)
RETURN DISTINCT perturbation.systematic_gene_name AS gene
ORDER BY gene;
