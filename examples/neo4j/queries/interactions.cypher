// One row for each scored genotype: its genes, its score and how it was measured.
// $dataset is the id of a dataset node; $temperature and $media fix the environment.
MATCH (dataset:Dataset)<-[:ExperimentMemberOf]-(experiment:Experiment)
WHERE dataset.id = $dataset
MATCH (experiment)<-[:PhenotypeMemberOf]-(phenotype:GeneInteractionPhenotype)
MATCH (experiment)<-[:EnvironmentMemberOf]-(environment:Environment)
MATCH (environment)<-[:MediaMemberOf]-(media:Media)
MATCH (environment)<-[:TemperatureMemberOf]-(temperature:Temperature)
WHERE phenotype.graph_level = 'hyperedge'
  AND media.name = $media
  AND temperature.value = $temperature
MATCH (experiment)<-[:GenotypeMemberOf]-(genotype:Genotype)<-[:PerturbationMemberOf]-(perturbation:Perturbation)
WITH experiment, phenotype, perturbation
ORDER BY perturbation.systematic_gene_name
WITH experiment, phenotype, collect(perturbation) AS perturbations
RETURN experiment.id AS experiment,
       perturbations[0].systematic_gene_name AS gene_a,
       perturbations[1].systematic_gene_name AS gene_b,
       perturbations[2].systematic_gene_name AS gene_c,
       size(perturbations) AS order,
       phenotype.gene_interaction AS score,
       phenotype.gene_interaction_p_value AS p_value,
       CASE WHEN all(p IN perturbations WHERE p.perturbation_type = 'deletion') THEN 'deletion' ELSE 'allele' END AS kind
ORDER BY experiment;
