//! The content of the views, and wrong choices.

use crate::support::{Client, HOSTILE, folder, served, served_with, train};
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Allele, AlleleTable, Dataset, Part, Sample, SamplesBuilder};
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{Scorer as _, Scores};
use knockout_sources::synth;
use serde_json::Value;
use std::collections::BTreeSet;

fn json(client: &Client, address: &str) -> Value {
    let answer = client.get(address);
    assert_eq!(answer.status, 200, "{address}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn partners_are_predicted_as_predict_does_and_filters_leave_some_out() {
    let home = folder();
    let opened = OpenRuns::open(&[home.path().join("runs/stack-0")], None, None).unwrap();
    let genes = opened.dataset.cell.genes().genes();
    // A gene and a partner with which it was measured.
    let set = opened.dataset.samples.genes(0).to_vec();
    let (name, with) = (&genes[set[0] as usize].systematic, &genes[set[1] as usize].systematic);
    served(&[home.path().to_owned()], |client| {
        let document = json(client, &format!("gene.json?of=runs/stack-0&name={name}&with={with}"));
        let partners = document["partners"].as_array().unwrap();
        assert_eq!(partners.len(), genes.len() - 2);
        let index = |name: &Value| opened.dataset.cell.genes().find(name.as_str().unwrap()).unwrap().0;
        let sets: Vec<Vec<u32>> = partners
            .iter()
            .map(|partner| partner["genes"].as_array().unwrap().iter().map(index).collect())
            .collect();
        let batch: GeneSets = sets.iter().map(Vec::as_slice).collect();
        let mut scores = Scores::default();
        opened.scorer().score(batch.view(), &mut scores).unwrap();
        for (partner, expected) in partners.iter().zip(&scores.mean) {
            assert_eq!(partner["prediction"].as_f64(), Some(*expected));
        }
        let of_set = sets.iter().position(|other| *other == set).map(|index| &partners[index]).unwrap();
        assert_eq!(of_set["score"].as_f64(), Some(opened.dataset.samples.scores()[0]));
        let part = Part::ALL.into_iter().find(|&part| opened.split.rows(part).contains(&0)).unwrap();
        assert_eq!(of_set["part"], part.name());
        assert!(of_set["measured"] == true && of_set["interval"][0].as_f64() < of_set["prediction"].as_f64());
        let left = json(client, &format!("gene.json?of=runs/stack-0&name={name}&with={with}&measured=hide"));
        let measured = partners.iter().filter(|partner| partner["measured"] == true).count();
        assert_eq!(left["partners"].as_array().unwrap().len(), partners.len() - measured);
        let table = client.get(&format!("partners.csv?of=runs/stack-0&name={name}&with={with}"));
        assert_eq!(table.body.lines().count(), partners.len() + 1);
        assert!(table.head.contains("filename=\"partners.csv\""), "{}", table.head);
    });
}

#[test]
fn partners_and_sets_have_the_alleles_of_measured_sets() {
    let home = tempfile::tempdir().unwrap();
    let preset = synth::SynthConfig::preset("tiny").unwrap();
    let mut dataset = synth::synthesise(&preset, 3, "tiny", "example", &|_| ()).unwrap();
    let set = dataset.samples.genes(0).to_vec();
    let allele = |gene, kind: &str, name: Option<&str>| Allele {
        gene,
        kind: kind.to_owned(),
        name: name.map(str::to_owned),
    };
    let mut table = vec![allele(set[0], "ts", Some("x-1")), allele(set[0], "ts", Some("x-2"))];
    table.extend(set[1..].iter().map(|&gene| allele(gene, "deletion", None)));
    let samples = SamplesBuilder::new(dataset.cell.genes().len());
    let mut samples = samples.with_allele_table(AlleleTable::new(table).unwrap()).unwrap();
    let first = dataset.samples.get(0);
    samples.push(Sample { alleles: &[0, 2, 3], score: 0.25, ..first }).unwrap();
    samples.push(Sample { alleles: &[1, 2, 3], score: -0.75, ..first }).unwrap();
    dataset.samples.iter().skip(1).for_each(|sample| samples.push(sample).unwrap());
    dataset.samples = samples.finish();
    dataset.write(&home.path().join("tiny"), &|_| ()).unwrap();
    train(home.path(), "stack", &[], "runs/stack-0");
    let names: Vec<&str> =
        set.iter().map(|&gene| &dataset.cell.genes().genes()[gene as usize].systematic[..]).collect();
    served(&[home.path().to_owned()], |client| {
        let of = format!("of=runs/stack-0&name={}&with={}", names[0], names[1]);
        let partners = json(client, &format!("gene.json?{of}"))["partners"].clone();
        let partner = partners.as_array().unwrap().iter().find(|found| found["samples"].is_array()).unwrap();
        assert_eq!(partner["samples"][1]["perturbation"], "x-2+deletion+deletion");
        assert_eq!(partner["measured_score"], -0.25);
        let table = client.get(&format!("partners.csv?{of}")).body;
        assert!(table.contains("x-1+deletion+deletion: 0.25; x-2+deletion+deletion: -0.75"), "{table}");
        let page = client.get(&format!("gene?{of}&n=1000")).body;
        assert!(
            page.contains("measured: -0.2500 (x-1+deletion+deletion 0.2500"),
            "the partner has its alleles"
        );
        let page = client.get(&format!("set?of=runs/stack-0&genes={}", names.join(","))).body;
        assert!(page.contains("x-2+deletion+deletion") && page.contains("linkage: unknown"), "the set, too");
    });
}

#[test]
fn hostile_names_stay_text_in_every_view() {
    let home = folder();
    let dataset = Dataset::open(&home.path().join("tiny")).unwrap();
    let genes = dataset.cell.genes().genes();
    let row = (0..dataset.samples.len()).find(|&row| dataset.samples.genes(row).contains(&0)).unwrap();
    let names: Vec<&str> =
        dataset.samples.genes(row).iter().map(|&gene| &genes[gene as usize].systematic[..]).collect();
    served(&[home.path().to_owned()], |client| {
        let (first, set) = (&genes[0].systematic, names.join(","));
        let escaped: Vec<String> = HOSTILE.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let escaped = escaped.concat();
        for address in [
            String::new(),
            "gene".to_owned(),
            format!("gene?name={first}"),
            format!(
                "gene?name={}&network={escaped}&with={first}",
                names.iter().find(|name| *name != first).unwrap()
            ),
            format!("gene?name={escaped}"),
            format!("gene?name=x{escaped}"),
            format!("gene?of={escaped}"),
            format!("set?genes={set}"),
            format!("set?genes={escaped}"),
            "hits".to_owned(),
            format!("hits?cutoff={escaped}&sign={escaped}"),
            format!("runs?a={escaped}&b={escaped}"),
            format!("trace?folder={escaped}"),
            format!("{escaped}?of={escaped}"),
        ] {
            let answer = client.get(&address);
            assert!([200, 400, 404].contains(&answer.status), "{address}: {}", answer.status);
            assert!(!answer.body.contains("alert(1)</script>"), "{address}");
            assert_eq!(answer.body.matches("<script").count(), 2, "{address}: the data and the script");
            assert!(!answer.body.contains("http://") && !answer.body.contains("https://"), "{address}");
        }
        assert!(client.get(&format!("gene?name={first}")).body.contains("&lt;/script&gt;"));
    });
}

#[test]
fn wrong_choices_have_a_clear_answer() {
    let home = folder();
    served(&[home.path().to_owned()], |client| {
        let genes = json(client, "genes.json?q=Z");
        let (first, second) =
            (genes[0]["systematic"].as_str().unwrap(), genes[1]["systematic"].as_str().unwrap());
        for (address, status, text) in [
            ("gene?name=NOTAGENE".to_owned(), 404, "NOTAGENE is not a gene of synthetic tiny"),
            (format!("set?genes={first},{first}"), 400, "twice"),
            (format!("set?genes={first},NOTAGENE"), 404, "NOTAGENE"),
            ("set?genes=a,b,c,d,e,f,g".to_owned(), 400, "too many"),
            ("set".to_owned(), 200, "Name two or three genes"),
            ("hits?of=tiny".to_owned(), 200, "has no predictions"),
            ("hits?cutoff=-1000000".to_owned(), 200, "choose a cut-off nearer to zero"),
            ("hits?cutoff=-0,1".to_owned(), 400, "is not a score"),
            ("hits?of=runs/stack-0&tested=many".to_owned(), 400, "is not a number of hits"),
            ("run?of=tiny".to_owned(), 400, "is a dataset"),
            ("runs?a=x&b=y".to_owned(), 404, "x is not a run"),
            ("traces".to_owned(), 200, "no traces"),
            (format!("set?genes={first},{second}"), 200, "extrapolates"),
            (format!("gene?of=tiny&name={first}"), 200, "Measured interactions"),
        ] {
            let answer = client.get(&address);
            assert_eq!(answer.status, status, "{address}: {}", answer.body);
            assert!(answer.body.contains(text), "{address} without {text:?}");
        }
    });
}

#[test]
fn hits_are_sets_without_a_score_and_runs_are_beside_each_other() {
    let home = folder();
    let dataset = Dataset::open(&home.path().join("tiny")).unwrap();
    served(&[home.path().to_owned()], |client| {
        let table = client.get("hits.csv?of=runs/stack-0&cutoff=-0.05");
        assert_eq!(table.status, 200, "{}", table.body);
        let rows: Vec<Vec<&str>> = table.body.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let mut before = f64::NEG_INFINITY;
        for row in &rows {
            let set: Vec<u32> =
                row[0].split(' ').map(|name| dataset.cell.genes().find(name).unwrap().0).collect();
            let mut sorted = set.clone();
            sorted.sort_unstable();
            let is_measured = |other: &[u32]| {
                let mut other = other.to_vec();
                other.sort_unstable();
                other == sorted
            };
            assert!(!dataset.samples.gene_sets().iter().any(is_measured), "{row:?}");
            let prediction: f64 = row[2].parse().unwrap();
            assert!(prediction >= before, "the lowest first");
            before = prediction;
        }
        assert!(rows.len() > 100, "{} rows", rows.len());
        let positive = ["0.05", "-0.05"].map(|cut_off| {
            client.get(&format!("hits.csv?of=runs/stack-0&sign=positive&cutoff={cut_off}")).body
        });
        assert_eq!(positive[0], positive[1], "a cut-off has the sign of the interactions");
        assert!(positive[0] != client.get("hits.csv?of=runs/stack-0&sign=positive&cutoff=0").body);
        let strongest = |kind: &str| client.get(&format!("hits.{kind}?of=runs/stack-0&cutoff=-0.05"));
        let network: Value = serde_json::from_str(&strongest("cyjs").body).unwrap();
        let (nodes, edges) = (&network["elements"]["nodes"], &network["elements"]["edges"]);
        let of_kind = |kind: &str| {
            let nodes = nodes.as_array().unwrap().iter();
            nodes.filter(|node| node["data"]["kind"] == kind).count()
        };
        assert_eq!(edges.as_array().unwrap().len(), 3 * rows.len(), "a triple is joined to its genes");
        assert_eq!(of_kind("set"), rows.len());
        let genes: BTreeSet<&str> = rows.iter().flat_map(|row| row[0].split(' ')).collect();
        assert_eq!(of_kind("gene"), genes.len());
        let workbook = strongest("xlsx");
        assert!(
            workbook.body.starts_with("PK") && workbook.head.contains("filename=\"hits.xlsx\""),
            "{}",
            workbook.head
        );
        assert!(workbook.body.contains(&format!(">{}<", rows[0][0].split(' ').next().unwrap())));
        assert_eq!(client.get("hits.cyjs?tested=0").status, 400);
        let runs = json(client, "runs.json");
        let group = &runs["groups"][0]["runs"];
        assert_eq!((group.as_array().unwrap().len(), &runs["training"]), (2, &Value::Bool(false)));
        let page = client.get("runs?a=runs/stack-0&b=runs/dango-0");
        assert!(page.status == 200 && page.body.contains("runs/dango-0"));
        for run in ["runs/stack-0", "runs/dango-0"] {
            assert_eq!(client.get(&format!("run?of={run}")).status, 200, "{run}");
        }
    });
}

#[test]
fn a_run_that_begins_later_and_one_of_another_dataset_than_named_are_shown() {
    let home = folder();
    let other = home.path().join("other");
    let preset = synth::SynthConfig::preset("tiny").unwrap();
    synth::synthesise(&preset, 4, "other", "example", &|_| ()).unwrap().write(&other, &|_| ()).unwrap();
    served_with(&[home.path().join("runs")], Some(&other), |client| {
        assert_eq!(client.get("gene?of=later").status, 404);
        train(home.path(), "low-rank", &[], "runs/later");
        assert_eq!(client.get("run?of=later").status, 200);
        let page = client.get("gene?of=later");
        assert!(
            page.status == 200 && page.body.contains("<option value=\"later\" selected"),
            "{}",
            page.body
        );
    });
}

#[test]
fn a_set_of_a_stack_is_shown_as_the_sum_of_its_parts() {
    let home = folder();
    let dataset = Dataset::open(&home.path().join("tiny")).unwrap();
    let genes = dataset.cell.genes().genes();
    let set: Vec<&str> =
        dataset.samples.genes(0).iter().map(|&gene| &genes[gene as usize].systematic[..]).collect();
    served(&[home.path().to_owned()], |client| {
        let page = client.get(&format!("set?of=runs/stack-0&genes={}", set.join(","))).body;
        for text in ["Parts of the model", "ridge of genes and query pairs", "Networks of the network kernel"]
        {
            assert!(page.contains(text), "{text}");
        }
    });
}

#[test]
fn documents_without_events_are_no_traces() {
    let home = folder();
    for (name, text) in [
        ("runs/notes.json", "{\"title\": \"no trace\"}"),
        ("runs/list.json", "[1, 2, 3]"),
        ("runs/events.json", "{\"traceEvents\": []}"),
        ("runs/bare.json", "\n [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 0, \"dur\": 1}]"),
    ] {
        std::fs::write(home.path().join(name), text).unwrap();
    }
    served(&[home.path().to_owned()], |client| {
        let page = client.get("traces").body;
        for (name, is_trace) in
            [("notes.json", false), ("list.json", false), ("events.json", true), ("bare.json", true)]
        {
            assert_eq!(page.contains(name), is_trace, "{name}");
        }
    });
}
