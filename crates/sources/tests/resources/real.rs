//! The real files: counts equal to the data folder's STATS.tsv and PROVENANCE.md, or the difference explained.
//!
//! Ignored where `Resource::Data` is missing.

use crate::support::message;
use knockout_data::screen::RepeatAlleles;
use knockout_sources::import::report::{ImportReport, NetworkReport};
use knockout_sources::import::{Import, Recipe, import};
use std::fmt::Write as _;
use std::path::Path;

const GENES: &str = "[[genes]]\nformat = \"sgd\"\nfile = \"sgd/SGD_features.tab.gz\"\n";

fn run(data: &Path, recipe: &str) -> Import {
    let recipe = Recipe::from_toml(&format!("allow-missing = true\n{GENES}{recipe}")).unwrap();
    import(&recipe, data, &|_| {}).unwrap_or_else(|error| panic!("{}", message(&error)))
}

fn edges(file: &str, more: &str) -> String {
    format!("[[networks]]\nformat = \"edges\"\nfile = \"{file}\"\n{more}\n")
}

/// Rows of the file, rows with names outside the table, self-loops and edges.
fn counts(network: &NetworkReport) -> [u64; 4] {
    [network.rows.read, network.rows.unknown_gene, network.counts.self_loops, network.counts.edges]
}

pub(crate) fn sgd_features(data: &Path) {
    let found = run(data, "");
    assert_eq!(found.report.gene_sources[0].rows, 16_454);
    assert_eq!(found.report.genes, 6_604);
    let text = GENES.to_owned() + "qualifiers = [\"Verified\"]\n";
    let verified = import(&Recipe::from_toml(&text).unwrap(), data, &|_| {}).unwrap();
    assert_eq!(verified.report.genes, 5_155 + 4, "Verified and Verified|silenced_gene");
}

pub(crate) fn dango_channels_match_the_reference(data: &Path) {
    let mut recipe = String::new();
    for (channel, ending) in
        [("neighborhood", ".gz"), ("fusion", ""), ("cooccurence", ""), ("database", ".gz")]
    {
        write!(
            recipe,
            "[[networks]]\nformat = \"dango\"\nfile = \"dango/yeast_string_{channel}_adjacency.txt{ending}\"\n\
             gene-list = \"dango/yeast_string_genes.txt\"\n"
        )
        .unwrap();
    }
    let found = run(data, &recipe);
    let networks = &found.report.networks;
    // STATS counts the edges of all names (45,610, 1,361, 2,664, 33,486). YFL056C and YFL057C are no ORFs any more; what
    // remains is exactly what the reference counts.
    assert_eq!(counts(&networks[0]), [91_220, 18, 0, 45_601]);
    assert_eq!(counts(&networks[1]), [2_722, 6, 0, 1_358]);
    assert_eq!(counts(&networks[2]), [5_328, 10, 0, 2_659]);
    assert_eq!(counts(&networks[3]), [66_972, 0, 0, 33_486]);
    assert!(networks.iter().all(|network| network.counts.mirrored == network.counts.edges));
    assert_eq!(networks[0].name, "string9_1_neighborhood");
    let weights = found.dataset.cell.networks()[0].weights();
    let largest = weights.iter().copied().fold(0.0, f32::max);
    assert!((largest - 0.794).abs() < 1e-6);
}

pub(crate) fn string_physical_links(data: &Path) {
    let full = "string/4932.protein.physical.links.full.v12.0.txt.gz";
    let recipe = format!(
        "[[networks]]\nformat = \"string\"\nfile = \"string/4932.protein.physical.links.v12.0.txt.gz\"\nname = \"links\"\n\
         [[networks]]\nformat = \"string\"\nfile = \"{full}\"\n\
         channels = [\"combined_score\", \"experiments\", \"experiments_transferred\", \"database\", \"database_transferred\", \"textmining\"]\n\
         [[networks]]\nformat = \"string\"\nfile = \"{full}\"\nchannels = [\"experimental\"]\nthreshold = 500\nentries = \"one\"\nname = \"strong\"\n"
    );
    let found = run(data, &recipe);
    let edges: Vec<(u64, u64)> =
        found.report.networks.iter().map(|n| (n.counts.edges, n.counts.nodes)).collect();
    assert_eq!(
        edges[..7],
        [
            (176_303, 5_925),
            (176_303, 5_925),
            (125_321, 5_902),
            (67_819, 3_516),
            (25_345, 2_653),
            (764, 275),
            (9_460, 3_236)
        ]
    );
    assert_eq!(found.report.networks[0].rows.read, 352_606);
    assert_eq!(found.report.networks[0].counts.entries, 352_606, "both directions, as the file has them");
    assert_eq!(found.report.networks[7].name, "strong");
    assert_eq!(found.report.networks[7].counts.entries, found.report.networks[7].counts.edges);
}

pub(crate) fn plain_edge_lists(data: &Path) {
    let mut recipe = String::new();
    for file in ["Costanzo-2016.txt.gz", "Hu-2007.txt.gz", "Union.txt.gz"] {
        recipe += &edges(&format!("bionic/{file}"), "header = false\nweight = \"3\"");
    }
    recipe += &edges("bionic/Krogan-2006.txt", "header = false");
    for file in [
        "kisr/ppc_yeast.edges.tsv.gz",
        "santa/g.costanzo.raw.tsv.gz",
        "santa/g.costanzo.cor.tsv.gz",
        "santa/g.srivas.untreated.tsv.gz",
    ] {
        recipe += &edges(file, "");
    }
    recipe += &edges("tflink/tflink_systematic.tsv.gz", "directed = true");
    recipe += &edges(
        "tflink/tflink_systematic.tsv.gz",
        "directed = true\nname = \"small\"\nwhere = { small_scale = \"Yes\" }",
    );
    recipe += &edges(
        "yeastract/Yeast_TFTG.csv",
        "directed = true\nsource = \"TF\"\ntarget = \"TG\"\nstrip-end = \"p\"",
    );
    for channel in ["fusion", "cooccurence"] {
        recipe += &edges(&format!("dango/string_v9.1_{channel}.edges.tsv"), "");
    }
    let found = run(data, &recipe);
    let networks = &found.report.networks;
    assert_eq!(counts(&networks[0]), [33_056, 0, 0, 33_056]);
    assert_eq!(counts(&networks[1]), [14_826, 0, 0, 14_826]);
    // STATS: 53,351, 7,075, 58,260 + 1,117 self-loops, 78,701 and 76,434 edges over all names; the rows with names that
    // do not join the ORF list are left out.
    for (network, rows) in networks[2..8].iter().zip([53_351, 7_075, 59_377, 78_701, 76_434, 6_270]) {
        let [read, unknown, loops, edges] = counts(network);
        assert_eq!(read, rows);
        // Two old names of one gene make a repeat where the names were apart.
        assert_eq!(
            read,
            unknown + loops + edges + network.counts.repeated + network.counts.mirrored,
            "{}",
            network.name
        );
        assert!(unknown * 20 < read, "{} leaves out {unknown}", network.name);
    }
    assert_eq!(counts(&networks[7]), [6_270, 0, 0, 6_270]);
    assert_eq!(counts(&networks[8]), [230_640, 0, 158, 230_476]);
    assert_eq!(
        (networks[9].counts.edges, networks[9].counts.nodes, networks[9].counts.self_loops),
        (5_268, 2_222, 44)
    );
    assert_eq!(networks[10].rows.read, 9_487);
    assert_eq!(networks[11].counts.edges, 1_358);
    assert_eq!(networks[12].counts.edges, 2_659);
}

pub(crate) fn string_actions_as_an_edge_list(data: &Path) {
    let file = "string/4932.protein.actions.v11.0.txt.gz";
    let recipe = edges(
        file,
        "strip = \"4932.\"\nweight = \"score\"\nwhere = { mode = \"ptmod\" }\nname = \"ptmod\"",
    ) + &edges(
        file,
        "strip = \"4932.\"\nweight = \"score\"\nwhere = { mode = \"expression\" }\nname = \"expression\"",
    );
    let found = run(data, &recipe);
    let edges: Vec<u64> = found.report.networks.iter().map(|network| network.counts.edges).collect();
    assert_eq!(edges, [2_923, 262]);
    assert_eq!(found.report.networks[0].rows.read, 769_028);
}

pub(crate) fn regulation_matrices(data: &Path) {
    let recipe = "[[networks]]\nformat = \"yeastract\"\nfile = \"yeastract/YEASTRACT_20190713_BOTH.tsv.gz\"\n\
                  [[networks]]\nformat = \"yeastract\"\nfile = \"yeastract/gold_standard.tsv\"\nname = \"gold\"\n";
    let found = run(data, recipe);
    let [both, gold] = &found.report.networks[..] else { panic!("two networks") };
    // STATS: 11,486 with 43 self-loops over all names, 11,443 edges. Names outside the table leave 134 of them out, and
    // two old names lead to genes that stand there already.
    assert_eq!(counts(both), [11_486, 134, 43, 11_307]);
    assert_eq!(both.counts.repeated, 2);
    assert_eq!(gold.rows.read, 1_403);
    assert_eq!(
        gold.rows.read,
        gold.rows.unknown_gene + gold.counts.edges + gold.counts.repeated + gold.counts.self_loops
    );
    let signs = found.dataset.cell.networks()[1].weights();
    assert!(signs.contains(&-1.0) && signs.contains(&1.0) && signs.iter().all(|sign| sign.abs() == 1.0));
}

pub(crate) fn tflink_row_for_row(data: &Path) {
    let file = "tflink/TFLink_Saccharomyces_cerevisiae_interactions_All_simpleFormat_v1.0.rebuilt.tsv.gz";
    let recipe = format!(
        "[[aliases]]\nformat = \"table\"\nfile = \"yeast-gem/SGD_with_Uniprot.csv\"\ngene = \"Systematic_name\"\nalias = [\"Uniprot_id\"]\n\
         [[aliases]]\nformat = \"string\"\nfile = \"string/4932.protein.aliases.v12.0.txt.gz\"\n\
         [[networks]]\nformat = \"tflink\"\nfile = \"{file}\"\n"
    );
    let found = run(data, &recipe);
    let network = &found.report.networks[0];
    let [read, unknown, loops, edges] = counts(network);
    assert_eq!(read, 237_042);
    assert_eq!(read, unknown + loops + edges + network.counts.repeated, "every row is an edge or counted");
    // The derived table has 230,476 pairs. A UniProt entry shared by two genes (histones, TEF1 and TEF2) belongs to
    // neither here, and the row's gene name decides; there the first gene took it.
    assert!((229_000..231_000).contains(&edges), "{edges}");
    let zebrafish = "allow-missing = true\n".to_owned()
        + GENES
        + "[[networks]]\nformat = \"tflink\"\nfile = \"format-samples/TFLink_Danio_rerio_simpleFormat_v1.0.first200.tsv\"\n";
    let fish = import(&Recipe::from_toml(&zebrafish).unwrap(), data, &|_| {}).unwrap();
    assert_eq!(fish.report.networks[0].rows.read, 200, "all 15 columns of the published format");
}

pub(crate) fn sgd_interactions_and_biogrid_header(data: &Path) {
    let recipe = "[[networks]]\nformat = \"sgd\"\nfile = \"format-samples/SGD_interaction_data.tab.sample\"\n\
                  [[networks]]\nformat = \"biogrid\"\nfile = \"format-samples/BIOGRID_tab3.header.tsv\"\n";
    let found = run(data, recipe);
    let [sgd, biogrid] = &found.report.networks[..] else { panic!("two networks") };
    assert_eq!((sgd.rows.read, sgd.counts.edges, sgd.counts.entries), (2, 1, 2));
    assert_eq!(sgd.rows.skipped["evidence of the other kind"], 1);
    assert_eq!((biogrid.rows.read, biogrid.counts.edges), (0, 0), "the header alone");
}

pub(crate) fn yeast_gem_gives_the_reference_numbers_exactly(data: &Path) {
    let found = run(data, "[metabolism]\nformat = \"yeast-gem\"\nfile = \"yeast-gem/yeast-GEM.yml.gz\"\n");
    let model = found.report.metabolism.unwrap();
    assert_eq!((model.model_reactions, model.rules), (4_131, 2_709));
    assert_eq!(
        (model.reactions, model.metabolites, model.gpr, model.stoichiometry),
        (7_122, 2_806, 5_450, 26_325)
    );
    assert!(model.lost_reactions.is_empty());
    let growth = found
        .dataset
        .cell
        .metabolism()
        .unwrap()
        .reactions()
        .iter()
        .filter(|r| r.subsystem == "Growth")
        .count();
    assert!(growth > 0, "the subsystem of a list is read");
}

pub(crate) fn complexes_of_intact(data: &Path) {
    let source = |more: &str| {
        format!(
            "[[annotations]]\nformat = \"json\"\nfile = \"bionic/yeast_IntAct_complex_labels.json\"\n{more}\n"
        )
    };
    let found = run(data, &source(""));
    let [report] = &found.report.annotations[..] else { panic!("one set") };
    // Computed apart.
    assert_eq!((report.terms, report.genes, report.pairs), (48, 567, 868));
    assert_eq!((report.rows.read, report.rows.unknown_gene, report.terms_too_small), (567, 0, 0));
    let few = run(data, &source("name = \"few\"\nmax-genes = 20"));
    let [report] = &few.report.annotations[..] else { panic!("one set") };
    assert_eq!((report.name.as_str(), report.terms + report.terms_too_large as usize), ("few", 48));
    assert!(report.terms_too_large > 0);
    let cell = &found.dataset.cell;
    let set = cell.annotation("yeast_IntAct_complex_labels").unwrap();
    // ATP synthase.
    let terms_of = |gene: &str| {
        let gene = cell.genes().find(gene).unwrap();
        set.terms_of(gene.index() as u32)
            .iter()
            .map(|&term| set.terms()[term as usize].as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!((terms_of("Q0080"), terms_of("ATP1")), (vec!["CPX-3281"], vec!["CPX-3281"]));
    assert_eq!(found.dataset.manifest.provenance.sources.len(), 2);
}

fn screens(report: &ImportReport) -> Vec<(u64, u64)> {
    report.screens.iter().map(|screen| (screen.rows.read, screen.measurements)).collect()
}

pub(crate) fn screen_samples_row_for_row(data: &Path) {
    let mut recipe = String::new();
    for (format, file) in [
        ("kuzmin2018", "kuzmin-samples/kuzmin2018_Data_S1.sample.tsv"),
        ("kuzmin2018", "kuzmin-samples/kuzmin2018_Data_S2.sample.tsv"),
        ("kuzmin2020", "kuzmin-samples/aaz5667-Table-S1.sample.tsv"),
        ("kuzmin2020", "kuzmin-samples/aaz5667-Table-S3.sample.tsv"),
        ("costanzo2016", "costanzo-samples/SGA_NxN.txt"),
        ("costanzo2016", "costanzo-samples/SGA_ExE.txt"),
        ("costanzo2016", "costanzo-samples/SGA_ExN_NxE.txt"),
    ] {
        write!(recipe, "[[screens]]\nformat = \"{format}\"\nfile = \"{file}\"\n").unwrap();
    }
    recipe += "[[screens]]\nformat = \"table\"\nfile = \"kuzmin-samples/torchcell_tau.sample.tsv\"\n\
               genes = [\"gene_1\", \"gene_2\", \"gene_3\"]\nscore = \"gene_interaction\"\np-value = \"p_value\"\n\
               [[screens]]\nformat = \"table\"\nfile = \"kuzmin-samples/kuzmin2018_trigenic_with_lower_orders.sample.tsv\"\n\
               genes = [\"alleles\"]\nscore = \"adjusted_interaction_score_epsilon_or_tau\"\np-value = \"pval\"\n\
               fitness = \"combined_mutant_fitness\"\n";
    let found = run(data, &recipe);
    let rows = screens(&found.report);
    assert_eq!(rows.iter().map(|(read, _)| *read).collect::<Vec<_>>(), [10, 25, 20, 8, 50, 50, 50, 33, 50]);
    for (screen, (read, kept)) in found.report.screens.iter().zip(&rows) {
        let skipped: u64 = screen.rows.skipped.values().sum();
        assert_eq!(*read, kept + screen.rows.unknown_gene + skipped, "{}", screen.file);
    }
    assert_eq!(rows[..4], [(10, 10), (25, 25), (20, 20), (8, 8)], "every Kuzmin row is a measurement");
    let first = found.dataset.samples.get(0);
    assert_eq!(
        (first.genes.len(), first.query.len(), first.score, first.kind),
        (2, 1, -0.008_68, "deletion")
    );
    assert_eq!(found.report.screens[0].orders, [(2, 5), (3, 5)].into());
}

pub(crate) fn raw_score_is_combined_minus_query_times_array(data: &Path) {
    let mut checked = 0;
    for file in
        ["kuzmin2018_Data_S1.sample.tsv", "aaz5667-Table-S1.sample.tsv", "aaz5667-Table-S3.sample.tsv"]
    {
        let text = std::fs::read_to_string(data.join("kuzmin-samples").join(file)).unwrap();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let number = |column: usize| cells[column].parse::<f64>().ok();
            // 2020 leaves the query's fitness out of digenic rows.
            let (Some(raw), Some(query), Some(array), Some(combined)) =
                (number(5), number(8), number(9), number(10))
            else {
                continue;
            };
            assert!((raw - (combined - query * array)).abs() < 2e-3, "{file}: {line}");
            checked += 1;
        }
    }
    assert!(checked >= 10, "{checked} rows had all four numbers");
}

pub(crate) fn emap_screens(data: &Path) {
    let recipe = "[[screens]]\nformat = \"emap\"\nfile = \"slgi/gi2007.pairs.tsv.gz\"\nname = \"collins2007\"\n\
                  [[screens]]\nformat = \"emap\"\nfile = \"slgi/gi2005.pairs.tsv.gz\"\nname = \"schuldiner2005\"\n";
    let merged = recipe.replace("format = \"emap\"", "format = \"emap\"\nalleles = \"merge\"");
    let found = run(data, &merged);
    // PROVENANCE: 743 genes, of which 741 join the ORF list by systematic name. REP1 joins by its standard name; YDR134C
    // is no ORF any more, and its 434 pairs are left out.
    assert_eq!(screens(&found.report), [(186_500, 186_066), (83_118, 83_118)]);
    assert_eq!(found.report.screens[0].rows.unknown_names.keys().collect::<Vec<_>>(), ["YDR134C"]);
    assert_eq!(found.report.screens[0].kinds["deletion"], 150_636);
    assert_eq!(found.report.screens[1].kinds["unspecified"], 83_118, "the 2005 table names no alleles");
    // Alleles of one gene that are neither deletions nor DAmP meet in the kinds allele and mixed: 1,231 pairs merge.
    assert_eq!(found.report.samples.merged, 1_231);
    assert_eq!(found.report.samples.count, 186_066 - 1_231 + 83_118);
    let scores = found.dataset.samples.scores();
    assert!(scores.iter().all(|score| (-24.0..15.0).contains(score)));
    // Computed apart: 365 pairs are in both tables, with a correlation of 0.713. Some have two kinds in Collins, which count each.
    let between =
        found.dataset.manifest.repeats.iter().find(|repeats| repeats.first != repeats.second).unwrap();
    assert!((between.pearson - 0.713).abs() < 2e-3 && between.sets == 390, "{between:?}");
    // Apart, every pair of alleles of the matrix is a sample: nothing was measured twice.
    let apart = run(data, recipe);
    assert_eq!((apart.report.samples.merged, apart.report.samples.of_several_alleles), (0, 0));
    assert_eq!(apart.report.samples.count, 186_066 + 83_118);
    let alleles = |import: &Import| {
        import.dataset.manifest.repeats.iter().map(|r| (r.alleles, r.sets)).collect::<Vec<_>>()
    };
    assert_eq!(alleles(&apart), alleles(&found), "agreement is measured before anything is merged");
}

/// A recipe of an example, its files compressed where they are here.
fn example(data: &Path, folder: &str) -> Import {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder).join("recipe.toml");
    let mut text = std::fs::read_to_string(path).unwrap();
    let names: Vec<String> = text.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    for name in names.iter().filter(|name| name.contains('/') && !data.join(name).exists()) {
        text = text.replace(&format!("\"{name}\""), &format!("\"{name}.gz\""));
    }
    let recipe = Recipe::from_toml(&text).unwrap();
    import(&recipe, data, &|_| {}).unwrap_or_else(|error| panic!("{}", message(&error)))
}

pub(crate) fn the_recipe_of_the_union(data: &Path) {
    let found = example(data, "emap-union");
    assert_eq!(screens(&found.report), [(186_500, 186_066), (83_118, 83_118)]);
    let ceiling = found.dataset.manifest.bounds().ceiling.unwrap();
    assert!((ceiling.repeat_pearson - 0.713).abs() < 2e-3, "{ceiling:?}");
    assert_eq!(ceiling.alleles, RepeatAlleles::Unstated, "Schuldiner names no alleles");
    // Collins has no pair of identical alleles twice: 680 sets merge different ones.
    let of_collins: Vec<_> = found.dataset.manifest.repeats.iter().filter(|r| r.first == r.second).collect();
    let found_repeats: Vec<_> = of_collins.iter().map(|r| (r.alleles, r.sets)).collect();
    assert_eq!(found_repeats, [(RepeatAlleles::Different, 680)]);
    assert_eq!(found.dataset.manifest.samples_of_several_alleles, 680);
    assert_eq!(found.report.samples.of_several_alleles, 680);
    assert!(found.dataset.cell.networks().len() > 3);
}

pub(crate) fn the_recipes_of_screens_alone(data: &Path) {
    // The published names, and the samples of them that are here.
    let tau: Recipe = Recipe {
        screens: vec![
            "kuzmin-samples/torchcell_tau.sample.tsv,score=gene_interaction,p-value=p_value".parse().unwrap(),
        ],
        ..Recipe::default()
    };
    let found = import(&tau, data, &|_| {}).unwrap_or_else(|error| panic!("{}", message(&error)));
    assert_eq!((found.dataset.samples.len(), found.dataset.cell.networks().len()), (33, 0));
    assert_eq!(found.report.samples.orders.keys().collect::<Vec<_>>(), [&3]);
    let costanzo: Recipe = Recipe {
        screens: vec!["costanzo2016:costanzo-samples/SGA_NxN.txt".parse().unwrap()],
        ..Recipe::default()
    };
    let found = import(&costanzo, data, &|_| {}).unwrap_or_else(|error| panic!("{}", message(&error)));
    assert_eq!(found.report.samples.count, 50);
    let genes = found.dataset.cell.genes().genes();
    assert!(genes.iter().all(|gene| gene.systematic.starts_with('Y')), "systematic names, not strains");
}

pub(crate) fn the_recipe_of_the_example(data: &Path) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/real-yeast/recipe.toml");
    // The recipe names files as they are published; here some are compressed, and one exists rebuilt alone.
    let mut text =
        std::fs::read_to_string(path).unwrap().replace("Format_v1.0.tsv", "Format_v1.0.rebuilt.tsv");
    let names: Vec<String> = text.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    for name in names.iter().filter(|name| name.contains('/') && !data.join(name).exists()) {
        text = text.replace(&format!("\"{name}\""), &format!("\"{name}.gz\""));
    }
    let recipe = Recipe::from_toml(&text).unwrap();
    let mut found = import(&recipe, data, &|_| {}).unwrap_or_else(|error| panic!("{}", message(&error)));
    assert_eq!(found.dataset.samples.len(), 184_835);
    assert_eq!(found.dataset.cell.networks().len(), 7);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("yeast");
    found.write(&out, &|_| {}).unwrap();
    let faults = knockout_data::screen::verify(&out).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(found.dataset.manifest.provenance.sources.len(), 15, "every file read, with its blake3");
    let kept = Recipe::from_toml(&std::fs::read_to_string(out.join("recipe.toml")).unwrap()).unwrap();
    assert_eq!(kept, recipe, "the recipe is kept with the dataset");
}
