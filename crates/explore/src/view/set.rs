//! One set of genes: its prediction, what contributes, and the nearest measurements.

use super::answer::Problem;
use super::shared::{
    FITTED, MADE_BY, Shown, accuracy_sentence, empty_page, interval, or_dash, score, source_field,
};
use crate::explorer::Explorer;
use crate::model::sorted;
use crate::query::Query;
use knockout_data::cell::{Deletion, GeneId, GeneSets};
use knockout_data::screen::Part;
use knockout_predict::explain::Detail;
use knockout_report::lab::{DeletionDocument, deletion_page, explanation_page};
use knockout_report::page::{Fact, Field, Form, Page, Section, SectionItem};
use knockout_report::units::counted;

/// Genes of a set at most, as `explain` has it.
const MOST_GENES: usize = 6;
/// Neighbours that are left out in turn.
const NEIGHBOURS: usize = 8;
/// Nearest samples that are listed.
const NEAREST: usize = 12;

pub(super) fn page(explorer: &Explorer, query: &Query) -> Result<Page, Problem> {
    let shown = Shown::of(explorer, query)?;
    let text = query.all("genes").collect::<Vec<_>>().join(",");
    let form = Section::new("choose", "").with(Form {
        action: "set".to_owned(),
        fields: vec![
            Field::Text {
                name: "genes".to_owned(),
                label: "genes".to_owned(),
                value: text.clone(),
                suggestions: "genes".to_owned(),
            },
            source_field(explorer, shown.label()),
        ],
        submit: "explain".to_owned(),
        ..Form::default()
    });
    let names = named(&text, |name| shown.model.genes().find(name).is_some());
    let dataset = &shown.model.dataset().manifest.name;
    if names.is_empty() {
        let mut page = empty_page("A pair or triple", format!("{dataset} · {}", shown.label()));
        page.sections = vec![form.with("Name two or three genes, with commas between them.")];
        return Ok(page);
    }
    if names.len() > MOST_GENES {
        return Err(Problem::wrong(format!("{} genes are too many; name at most {MOST_GENES}", names.len())));
    }
    let genes = names.iter().map(|name| shown.gene(name)).collect::<Result<Vec<u32>, Problem>>()?;
    let set = sorted(&genes);
    if let Some(pair) = set.windows(2).find(|pair| pair[0] == pair[1]) {
        let name = shown.model.systematic(pair[0]);
        return Err(Problem::wrong(format!("the set names {name} twice; a set has every gene once")));
    }
    let mut page = explained(explorer, &shown, &set)?;
    MADE_BY.clone_into(&mut page.made_by);
    page.subtitle = format!("{dataset} · {}", shown.label());
    let links = set.iter().map(|&gene| (shown.model.name(gene).to_owned(), shown.gene_address(gene)));
    page.sections.insert(0, form.with(SectionItem::Links(links.collect())));
    Ok(page)
}

/// Separators of genes.
const SEPARATORS: [char; 3] = [',', ' ', '\t'];
/// Names that are read of a request.
const MOST_NAMES: usize = 64;

/// Divides a text into names. A name that has a separator itself is read as the longest one that is a gene.
fn named(text: &str, is_gene: impl Fn(&str) -> bool) -> Vec<&str> {
    let piece = |piece: &str| {
        let start = piece.as_ptr().addr() - text.as_ptr().addr();
        start..start + piece.len()
    };
    let pieces: Vec<_> =
        text.split(SEPARATORS).filter(|name| !name.is_empty()).take(MOST_NAMES).map(piece).collect();
    let (mut names, mut first) = (Vec::new(), 0);
    while let Some(from) = pieces.get(first) {
        let longest = (first..pieces.len()).rev().find(|&last| is_gene(&text[from.start..pieces[last].end]));
        let last = longest.unwrap_or(first);
        names.push(&text[from.start..pieces[last].end]);
        first = last + 1;
    }
    names
}

fn explained(explorer: &Explorer, shown: &Shown, set: &[u32]) -> Result<Page, Problem> {
    let model = &shown.model;
    let Some(run) = model.run().and_then(|opened| Some((opened.runs.first()?, opened))) else {
        let genes: Vec<GeneId> = set.iter().map(|&gene| GeneId(gene)).collect();
        return Ok(deletion_page(&DeletionDocument::of(model.dataset(), &Deletion::new(&genes)?)));
    };
    let (run, opened) = run;
    let sets: GeneSets = [set].into_iter().collect();
    let detail = Detail { neighbours: NEIGHBOURS, nearest: NEAREST };
    let explanation = {
        // Networks are left out one at a time, each with a forward pass of its own.
        let _alone = (!model.is_fast() || run.predictor().model().is_some()).then(|| explorer.heavy());
        run.explain(set, model.dataset(), &opened.split, detail, &|| ())?
    };
    let mut page = explanation_page(&explanation, shown.label());
    let predicted = model.predict(&sets)?.unwrap_or_default().into_iter().next();
    page.facts = vec![
        Fact::new("predicted", score(explanation.prediction)),
        Fact::new("95 % interval of a measurement", or_dash(predicted.as_ref().map(interval))),
        Fact::new("measured", or_dash(explanation.measured.map(|measured| score(measured.score)))),
        Fact::new("regime", explanation.regime.title()),
    ];
    if !model.trained_orders().contains(&set.len()) {
        page.warnings.push(format!(
            "No training sample has {}: this prediction extrapolates.",
            counted(set.len(), "gene")
        ));
    }
    page.findings.push(accuracy_sentence(model, set.len(), Some(explanation.regime)));
    let part = explanation.measured.and_then(|measured| measured.part);
    page.findings.extend((part == Some(Part::Train.name())).then(|| FITTED.to_owned()));
    Ok(page)
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_may_have_separators() {
        let named = |text| super::named(text, |name| ["A", "B", "tRNA,2", "tRNA"].contains(&name));
        assert_eq!(named("A, B\tX"), ["A", "B", "X"]);
        assert_eq!(named("A,tRNA,2,B"), ["A", "tRNA,2", "B"]);
        assert_eq!(named("tRNA,A"), ["tRNA", "A"]);
        assert!(named(" ,, ").is_empty());
    }
}
