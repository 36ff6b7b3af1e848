//! `knockout data import`: public files to a dataset.

use crate::choice;
use crate::failure::{FailureContext as _, Result, request_error};
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_data::screen::Dataset;
use knockout_report::lab::{import_page, import_remarks};
use knockout_sources::import::recipe::{
    AliasSource, AnnotationSource, FeatureSource, GeneSource, MetabolismSource, NetworkSource, ScreenSource,
};
use knockout_sources::import::screens::{Alleles, Duplicates};
use knockout_sources::import::{Recipe, import};
use std::path::PathBuf;

/// Make a dataset from your own screen or the public yeast files
///
/// A source is FORMAT:FILE, with options behind commas: FORMAT:FILE,key=value,key=value; a screen without a format is a table
/// with the columns `gene_a`, `gene_b`, perhaps `gene_c`, and `score`, and then no gene table is needed. Files may be gzipped.
/// The parts of a list are separated by `+`. Rows that name genes outside the table are left out whole, counted, and listed in
/// import-report.json, which is kept with the dataset beside the recipe.
#[derive(Debug, Args)]
#[command(after_help = "FORMATS AND THEIR OPTIONS:
  --genes       sgd:FILE      SGD_features.tab; types=ORF, qualifiers=Verified+Uncharacterized
                list:FILE     one name per line, in this order
                torchcell:DIR the gene set of the Python system's dataset
  --aliases     sgd:FILE      standard names and aliases of SGD_features.tab
                string:FILE   STRING protein.aliases
                table:FILE    gene=COLUMN, alias=COLUMN+COLUMN
  --network     string:FILE   links.detailed, links.full, physical.links; channels=fusion+database,
                              threshold=400, thresholds.database=700, name=PREFIX
                dango:FILE    i, j, weight; gene-list=FILE
                sgd:FILE      interaction_data.tab; evidence=physical|genetic
                biogrid:FILE  tab3; evidence=physical|genetic, organism=559292
                tflink:FILE   simple format, directed; scale=all|small
                yeastract:FILE  a matrix of targets by regulators, directed
                edges:FILE    TSV, CSV, xlsx, Parquet; source=, target=, weight=, directed=true,
                              header=false, separator=, where.COLUMN=VALUE, strip=, strip-end=
                all: name=NAME; undirected ones: entries=two|one, how many directed edges each becomes
  --metabolism  yeast-gem:FILE  yeast-GEM.yml
                sbml:FILE     SBML level 3 with fbc
  --features    table:FILE    TSV, CSV: numbers of genes; gene=COLUMN, columns=COLUMN+COLUMN,
                              separator=
                npy:FILE      a NumPy array of genes by features; gene-list=FILE, name=PREFIX
  --annotations table:FILE    a gene and a term in each row; gene=COLUMN, term=COLUMN, separator=
                gmt:FILE      a line per term: term, description, genes
                json:FILE     an object that has a list of terms for every gene
                gaf:FILE      GO's gene associations; aspect=P+F+C, evidence=IDA+IMP, or
                              without=IGI+HGI, which is the default
                all: name=NAME, min-genes=2, max-genes=N, how many genes a term must have
  --screen      kuzmin2018:FILE, kuzmin2020:FILE  text or xlsx; orders=2+3
                costanzo2016:FILE  SGA tables
                emap:FILE     gene_a, allele_a, gene_b, allele_b, s_score
                table:FILE    genes=COLUMN+COLUMN, score=COLUMN, standard-error=, query=1,
                              p-value=, fitness=, fitness-sd=, kind=, kind-column=,
                              allele-columns=COLUMN+COLUMN, decimal=comma|point, sheet=,
                              where.COLUMN=VALUE
                matrix:FILE   a gene in each row and column; shape=symmetric|query-rows|query-columns,
                              kind=, decimal=, separator=, sheet=
                torchcell:DIR the Python system's LMDB; splits=FILE+FILE
                FILE          a table with gene_a, gene_b[, gene_c], score; others: genes=, score=
                all: alleles=apart|merge|deletion

EXAMPLES:
  knockout data import yeast --genes sgd:SGD_features.tab.gz \\
      --network string:4932.protein.links.detailed.v12.0.txt.gz,threshold=400 \\
      --metabolism yeast-gem:yeast-GEM.yml --screen kuzmin2018:aao1729_Data_S1.tsv,orders=3
  knockout data import yeast --recipe examples/real-yeast/recipe.toml --data FOLDER
  knockout data import k562 --screen k562.tsv
  knockout data import old --screen torchcell:data/torchcell/experiments/006 --genes list:genes.txt")]
pub(crate) struct ImportArgs {
    /// The dataset's folder, which must not exist yet
    out: PathBuf,
    /// Take all sources and choices from a TOML file; options given here are added
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// The folder that relative file names start from; else `KNOCKOUT_DATA`, else the current folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Genes of the table
    #[arg(long, value_name = "SOURCE")]
    genes: Vec<GeneSource>,
    /// More names for the genes
    #[arg(long, value_name = "SOURCE")]
    aliases: Vec<AliasSource>,
    /// A network, or several from one file
    #[arg(long = "network", value_name = "SOURCE")]
    networks: Vec<NetworkSource>,
    /// A metabolic model
    #[arg(long, value_name = "SOURCE")]
    metabolism: Option<MetabolismSource>,
    /// Content features of the genes; columns of several sources are put side by side
    #[arg(long, value_name = "SOURCE")]
    features: Vec<FeatureSource>,
    /// Terms that genes are annotated with, such as GO terms, complexes or pathways; each source is a set of its own
    #[arg(long, value_name = "SOURCE")]
    annotations: Vec<AnnotationSource>,
    /// A screen; samples keep the order of the screens and their rows
    #[arg(long = "screen", value_name = "SOURCE")]
    screens: Vec<ScreenSource>,
    /// Alleles to import, and whether those of the same genes stay apart [default: apart]
    #[arg(long, value_name = "WHICH", value_parser = choice::alleles())]
    alleles: Option<Alleles>,
    /// Treatment of repeated measurements of the same genes, kind and alleles [default: mean]
    #[arg(long, value_name = "HOW", value_parser = choice::duplicates())]
    duplicates: Option<Duplicates>,
    /// Continue when a source loses more than 20 % of its rows to unknown genes
    #[arg(long)]
    allow_missing: bool,
    /// MiB that a packed file may unpack to. Workbooks always have this limit; gzip and Parquet only where they unpack to over 100
    /// times their size [default: 1024]
    #[arg(long, value_name = "N")]
    unpack_mib: Option<u64>,
    /// A network, feature or set of annotations that derives from genetic interactions; reports name it. Known sources need no mark
    #[arg(long, value_name = "NAME")]
    from_interactions: Vec<String>,
    /// One that does not, although its name is that of a known source
    #[arg(long, value_name = "NAME")]
    independent: Vec<String>,
    /// The dataset's name; that of its folder otherwise
    #[arg(long)]
    name: Option<String>,
}

pub(crate) fn run(args: ImportArgs, ui: &Ui) -> Result<()> {
    // A bad OUT must not cost the time of reading first.
    Dataset::check_target(&args.out)?;
    if let Some(mib) = args.unpack_mib {
        knockout_base::unpack::set_limit_mib(mib);
    }
    let out = args.out.clone();
    let base = args.data.clone().or_else(|| std::env::var_os("KNOCKOUT_DATA").map(PathBuf::from));
    let base = base.unwrap_or_default();
    let recipe = recipe_of(args)?;
    let missing = recipe.missing(&base);
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(|path| path.display().to_string()).collect();
        let text = format!(
            "there is no {} (nor with .gz); name the folder of the files with --data or KNOCKOUT_DATA",
            missing.join(", no ")
        );
        return Err(request_error(text));
    }
    let bar = ui.progress("reading", recipe.byte_count(&base), Unit::Bytes);
    let mut import = import(&recipe, &base, &|bytes| bar.inc(bytes))?;
    bar.set_message("writing");
    import.write(&out, &|_| {})?;
    bar.finish_and_clear();
    for remark in import_remarks(&import.report) {
        ui.note(&remark);
    }
    ui.page(|| import_page(&import.report, &out), &import.report)
}

fn recipe_of(args: ImportArgs) -> Result<Recipe> {
    let mut recipe = match &args.recipe {
        None => Recipe::default(),
        Some(path) => {
            let name = path.display();
            let text = std::fs::read_to_string(path)
                .map_err(|error| request_error(format!("recipe {name}: {error}")))?;
            Recipe::from_toml(&text).with_context(|| format!("recipe {name}"))?
        }
    };
    recipe.genes.extend(args.genes);
    recipe.aliases.extend(args.aliases);
    recipe.networks.extend(args.networks);
    recipe.metabolism = args.metabolism.or(recipe.metabolism);
    recipe.features.extend(args.features);
    recipe.annotations.extend(args.annotations);
    recipe.screens.extend(args.screens);
    recipe.from_interactions.extend(args.from_interactions);
    recipe.independent.extend(args.independent);
    recipe.allow_missing |= args.allow_missing;
    recipe.name = args.name.or(recipe.name);
    recipe.alleles = args.alleles.unwrap_or(recipe.alleles);
    recipe.duplicates = args.duplicates.unwrap_or(recipe.duplicates);
    Ok(recipe)
}
