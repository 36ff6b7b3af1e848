//! A page, document or table for each address.

mod answer;
mod gene;
mod hits;
mod home;
mod partners;
mod runs;
mod set;
mod shared;
mod traces;

pub(crate) use answer::{HttpAnswer, Reply};

use crate::explorer::Explorer;
use crate::query::Query;

/// Answers an address: the path behind the token, and the query.
pub(crate) fn answer(explorer: &Explorer, path: &str, query: &Query) -> HttpAnswer {
    let of = query.get("of");
    let page = match path {
        "" => Ok(home::page(explorer)),
        "gene" => gene::page(explorer, query),
        "set" => set::page(explorer, query),
        "hits" => hits::page(explorer, query),
        "runs" => runs::page(explorer, query),
        "run" => runs::run_page(explorer, query),
        "traces" => Ok(traces::page(explorer)),
        "trace" => traces::report(explorer, query),
        "genes.json" => return gene::suggestions(explorer, query).unwrap_or_else(|problem| problem.plain()),
        "gene.json" => return gene::document(explorer, query).unwrap_or_else(|problem| problem.plain()),
        "partners.csv" => {
            return gene::partners_csv(explorer, query).unwrap_or_else(|problem| problem.plain());
        }
        "measured.csv" => {
            return gene::measured_csv(explorer, query).unwrap_or_else(|problem| problem.plain());
        }
        "hits.csv" => return hits::csv(explorer, query).unwrap_or_else(|problem| problem.plain()),
        "hits.xlsx" => return hits::xlsx(explorer, query).unwrap_or_else(|problem| problem.plain()),
        "hits.cyjs" => return hits::cytoscape(explorer, query).unwrap_or_else(|problem| problem.plain()),
        "runs.json" => return runs::document(explorer).unwrap_or_else(|problem| problem.plain()),
        _ => Err(answer::Problem::missing("there is no such page")
            .with_links([("the first page".to_owned(), "./".to_owned())])),
    };
    let view = match path {
        "run" => "runs",
        "trace" => "traces",
        path => path,
    };
    match page {
        Ok(page) => HttpAnswer::page(&page, view, of),
        Err(problem) => problem.answer(view, of),
    }
}
