//! The page of an experiment of two models.

use super::{DARK, Tried};
use crate::fixtures::experiment;
use knockout_report::experiment_html;
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn the_page_of_an_experiment_works_in_a_browser(browser: &Path) {
    let page = experiment_html(&experiment(), &[]);
    let tried = Tried::new(browser, page, include_str!("experiment.js"));
    let seen = tried.seen("1200,1400", &[]);
    assert_eq!((&seen["error"], &seen["ready"]), (&Value::Null, &json!("yes")), "{seen:#}");
    let sections: Vec<&str> = seen["sections"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for section in ["summary", "decomposition", "cells", "options-dango", "decisions", "next", "tree-dango"] {
        assert!(sections.contains(&section), "{section}: {sections:?}");
    }
    assert!(sections.contains(&"dango-phases") && sections.contains(&"hetero-steps"), "{sections:?}");
    assert_eq!(seen["cells"].as_array().unwrap().len(), 10);
    assert_eq!(seen["ratios"].as_array().unwrap().len(), 4);
    assert_eq!(seen["ratios"][3][0], "hetero full / dango full");
    assert!(seen["ratios"][3][2].as_str().unwrap().starts_with("3.19"), "{seen:#}");
    assert_eq!(seen["parts"].as_array().unwrap().len(), 5, "{seen:#}");
    // Bars of both ways, of the longest step of the same model: 1, nothing untracked, 10, 20 and 1 of 32 ms, then hetero's.
    assert_eq!(seen["widths"][0], json!([3, 0, 31, 63, 3]));
    assert_eq!(seen["widths"][0], seen["widths"][1]);
    assert_eq!(seen["widths"][2], json!([1, 0, 39, 59, 1]));
    assert_eq!(seen["options"], json!(["half 2.00 (2.00 to 2.00)"]));
    assert_eq!(seen["overflow"], false);
    let phone = tried.seen("500,900", &[]);
    assert_eq!((&phone["error"], &phone["overflow"]), (&Value::Null, &json!(false)), "also on a phone");
    assert_eq!(tried.seen("1200,1400", &[DARK])["paper"], "rgb(20, 23, 29)");
    tried.keep("experiment");
}
