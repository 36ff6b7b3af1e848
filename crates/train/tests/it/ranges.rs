//! Every numeric setting has the range that `docs/settings.md` documents: a key without a row, a value beyond a range that is
//! accepted and an end of a range that is refused all fail.

use knockout_data::cell::Cell;
use knockout_models::{MODELS, ModelEntry};
use knockout_sources::synth::synthesise;
use knockout_train::config::Config;
use std::collections::BTreeMap;
use toml::{Table, Value};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

/// One row of the page.
struct SettingRange {
    range: String,
    /// Ends hold only together with other settings.
    is_conditional: bool,
}

/// The rows of a section by key.
fn rows(section: &str) -> BTreeMap<String, SettingRange> {
    let text = std::fs::read_to_string(PAGE).unwrap();
    let (_, rest) = text.split_once(&format!("\n## {section}\n")).unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    cells
        .map(|(key, rest)| {
            let (range, also) = rest.split_once(" | ").unwrap();
            let also = also.trim_end_matches('|').trim();
            let is_conditional = !also.is_empty() && !also.starts_with("0:") && also != "minutes";
            (key.to_owned(), SettingRange { range: range.replace('`', ""), is_conditional })
        })
        .collect()
}

/// The section of a model: the one whose heading has its name, or that of all solved models.
fn section_of(entry: &ModelEntry) -> String {
    let text = std::fs::read_to_string(PAGE).unwrap();
    let mut headings = text.lines().filter_map(|line| line.strip_prefix("## "));
    let is_its = |heading: &&str| heading.to_lowercase().split(' ').any(|word| word == entry.name);
    match headings.find(is_its) {
        Some(heading) => heading.to_owned(),
        None if entry.is_solved => "Solved models".to_owned(),
        None => panic!("docs/settings.md has no section with {} in its heading", entry.name),
    }
}

/// Numbers by dotted key; the second says whether they are whole.
fn numbers(prefix: &str, table: &Table, found: &mut BTreeMap<String, (f64, bool)>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(table) => numbers(&key, table, found),
            Value::Integer(number) => drop(found.insert(key, (*number as f64, true))),
            Value::Float(number) => drop(found.insert(key, (*number, false))),
            _ => {}
        }
    }
}

/// Values at the ends of a range, and values beyond them.
fn ends(range: &str, is_whole: bool, lookup: &dyn Fn(&str) -> f64) -> (Vec<String>, Vec<String>) {
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| lookup(text));
    // Written out: a whole number must not become a float.
    let beside = |text: &str, by: i128| match text.parse::<i128>() {
        Ok(number) if is_whole => (number + by).to_string(),
        _ if is_whole => ((number(text) as i128) + by).to_string(),
        _ => format!("{:?}", number(text) + by as f64 * 1e-12 * (1.0 + number(text).abs())),
    };
    let not_finite = ["nan", "inf", "-inf"].map(str::to_owned);
    let mut beyond: Vec<String> = if is_whole { vec!["0.5".to_owned()] } else { not_finite.to_vec() };
    let mut inside = Vec::new();
    for part in range.split(", ") {
        if let Some((low, high)) = part.split_once(" to ") {
            inside.extend([beside(low, 0), beside(high, 0)]);
            beyond.extend([beside(low, -1), beside(high, 1)]);
        } else if let Some(low) = part.strip_suffix(" up") {
            inside.push(beside(low, 0));
            beyond.push(beside(low, -1));
        } else if let Some(end) = part.strip_prefix("above ").or(part.strip_prefix("below ")) {
            beyond.push(beside(end, 0));
        } else {
            assert_eq!(part, "any number", "{range}");
        }
    }
    (inside, beyond)
}

fn cell() -> std::sync::Arc<Cell> {
    let tiny = knockout_sources::synth::SynthConfig::preset("tiny").unwrap();
    synthesise(&tiny, 0, "tiny", "", &|_| {}).unwrap().cell
}

#[test]
fn settings_of_runs_have_the_ranges_of_their_page() {
    let cell = cell();
    for entry in MODELS {
        let mut documented = rows("Runs of every model");
        documented.extend(rows(&section_of(entry)));
        let defaults = Config::defaults(entry, &cell).unwrap();
        let mut found = BTreeMap::new();
        numbers("", &toml::from_str(&defaults.to_toml().unwrap()).unwrap(), &mut found);
        for (key, (value, is_whole)) in found {
            let row =
                documented.get(&key).unwrap_or_else(|| panic!("{key} of {} is not on the page", entry.name));
            let check = |value: &str| -> knockout_base::error::Result<()> {
                defaults.with(&[format!("{key}={value}")])?.check(&cell)
            };
            let of_steps =
                entry.is_solved && !key.starts_with("model.") && !key.starts_with("split.") && key != "seed";
            check(&if is_whole { format!("{value:.0}") } else { Value::from(value).to_string() })
                .unwrap_or_else(|error| panic!("{key} of {} refuses its default: {error}", entry.name));
            // It shares a row with the kernel's, which says so.
            let is_low_rank = key == "model.tolerance" && entry.name == "low-rank";
            let range = if is_low_rank { "0.0000001 up, below 1" } else { &row.range };
            let (inside, beyond) = ends(range, is_whole, &|_| unreachable!("runs have plain ends"));
            for value in beyond {
                assert!(check(&value).is_err(), "{key}={value} of {} is accepted", entry.name);
            }
            for value in inside.iter().filter(|_| !row.is_conditional && !of_steps) {
                check(value).unwrap_or_else(|error| panic!("{key}={value} of {}: {error}", entry.name));
            }
        }
    }
}

#[test]
fn settings_of_the_synthetic_yeast_have_the_ranges_of_their_page() {
    let documented = rows("The synthetic yeast");
    let tiny = knockout_sources::synth::SynthConfig::preset("tiny").unwrap();
    let mut found = BTreeMap::new();
    let table = Table::try_from(BTreeMap::from([("synth", &tiny)])).unwrap();
    numbers("", &table, &mut found);
    for (key, &(_, is_whole)) in &found {
        let name = key.strip_prefix("synth.networks.").and_then(|rest| rest.split('.').next());
        let general = name.map_or_else(|| key.clone(), |name| key.replace(name, "NAME"));
        let row = documented.get(&general).unwrap_or_else(|| panic!("{key} is not on the page"));
        let lookup = |end: &str| found[&end.replace("NAME", name.unwrap_or_default())].0;
        let (_, beyond) = ends(&row.range, is_whole, &lookup);
        for value in beyond {
            let mut table = table.clone();
            let made = knockout_base::config::apply(&mut table, &[format!("{key}={value}")], |_| Vec::new())
                .is_ok()
                .then(|| {
                    let config: Result<knockout_sources::synth::SynthConfig, _> =
                        table["synth"].clone().try_into();
                    config.ok().map(|config| synthesise(&config, 0, "tiny", "", &|_| {}).map(drop))
                });
            assert!(!matches!(made, Some(Some(Ok(())))), "{key}={value} is accepted");
        }
    }
}
