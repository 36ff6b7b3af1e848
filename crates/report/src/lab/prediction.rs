//! Predictions of many gene sets: the summary of a folder, and the page of hits.

use super::accuracy::{ceiling_sentence, dash, groups, prior_knowledge_sentence, scatter, unsealed_sentence};
use super::evaluation::lines;
use super::regimes::accuracy_sentences;
use crate::page::{Chart, Column, Fact, Medium, Page, Plot, Section, Series, Table};
use crate::units::{count, counted, figure};
use knockout_data::cell::{Gene, GeneTable};
use knockout_data::screen::{Part, Regime};
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{
    Calibration, CutOffs, ENRICHED, EnrichedTerm, Enrichment, FEWEST_OF_KIND, FalseHits, FalseShare, Hit,
    HitClass, HitEvidence, HitKind, HitNotes, Linkage, MeasuredSample, MeasuredSet, PREDICTIONS,
    PredictionFolder, PredictionSummary, RegimeAccuracy, RunEntry,
};
use serde::Serialize;
use std::path::PathBuf;

/// Hits that text shows; the files have all of them.
const PRINTED: usize = 10;
/// Hits that a page shows before it is expanded.
const SHOWN: usize = 25;

/// Document of `predict`.
#[derive(Debug, Clone, Serialize)]
pub struct PredictionDocument {
    /// Version of this document: 1.
    pub schema: u32,
    /// Folder of the predictions.
    pub out: PathBuf,
    /// Description of the candidates.
    pub what: String,
    /// Share of the candidates that was predicted.
    pub part: String,
    /// Number of candidates.
    pub candidates: u64,
    /// Candidates that were predicted.
    pub scored: u64,
    /// Candidates that filters left out.
    pub left_out: u64,
    /// Mean prediction.
    pub mean: Option<f64>,
    /// Accuracy of each size of sets and regime; empty where the runs were not opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accuracy: Vec<RegimeAccuracy>,
    /// Highest predictions.
    pub top: Vec<HitDocument>,
    /// Lowest predictions.
    pub bottom: Vec<HitDocument>,
    /// Scores beyond which hits count as true; absent where nothing is known about false ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_offs: Option<CutOffs>,
    /// Terms that the genes of the highest and lowest predictions have in common; absent without annotations.
    #[serde(skip_serializing_if = "HitEnrichment::is_empty")]
    pub enrichment: HitEnrichment,
    /// Tables that were written.
    pub files: Vec<PathBuf>,
    /// Whether a block has no checksum to be verified with: an earlier version wrote it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsealed: bool,
}

/// Terms that hits have in common, for each list.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HitEnrichment {
    /// Those of the highest predictions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<Enrichment>,
    /// Those of the lowest predictions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottom: Option<Enrichment>,
}

impl HitEnrichment {
    fn is_empty(&self) -> bool {
        self.top.is_none() && self.bottom.is_none()
    }
}

/// A list of hits with its name.
#[derive(Debug, Clone, Copy)]
pub struct HitList<'a> {
    /// Its name: `highest` or `lowest`.
    pub name: &'a str,
    /// The hits, the strongest first.
    pub hits: &'a [HitDocument],
    /// Terms that their genes have in common.
    pub enrichment: Option<&'a Enrichment>,
}

/// A predicted gene set.
#[derive(Debug, Clone, Serialize)]
pub struct HitDocument {
    /// Number of the candidate.
    pub number: u64,
    /// Systematic names.
    pub genes: Vec<String>,
    /// Standard names, or systematic ones where there are none.
    pub names: Vec<String>,
    /// Prediction, in the scores' units.
    pub prediction: f64,
    /// Standard deviation; absent if it is unknown, as for sets of a size that training does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Regime; `None` if the training part is unknown.
    pub regime: Option<Regime>,
    /// Whether the dataset has a score for the set.
    pub measured: bool,
    /// The score; the mean of several samples, weighted by their measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_score: Option<f64>,
    /// The part of the split that the score is in; absent outside of the subset, or if the split is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_part: Option<&'static str>,
    /// The samples of the set; empty for a single one whose alleles are not stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<MeasuredSample>,
    /// Names of the essential genes; `None` if the dataset has no annotations of them.
    pub essential: Option<Vec<String>>,
    /// Linkage of the genes.
    pub linkage: Linkage,
    /// Bases between the closest two genes on one chromosome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
    /// Expected share of false hits among those without a score up to this one; absent if it is unknown, or if the set is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_share: Option<FalseShare>,
}

impl HitDocument {
    /// Describes a hit.
    pub fn of(hit: &Hit, genes: &GeneTable, notes: &HitNotes<'_>) -> Self {
        let note = notes.note(&hit.genes);
        let name = |gene: u32| genes.genes()[gene as usize].name().to_owned();
        let genes = || hit.genes.iter().map(|&gene| &genes.genes()[gene as usize]);
        Self {
            number: hit.number,
            genes: genes().map(|gene| gene.systematic.clone()).collect(),
            names: genes().map(|gene| Gene::name(gene).to_owned()).collect(),
            prediction: hit.prediction,
            sd: hit.sd.filter(|sd| sd.is_finite()),
            regime: note.regime,
            measured: false,
            measured_score: None,
            measured_part: None,
            samples: Vec::new(),
            essential: note.essential.map(|essential| essential.into_iter().map(name).collect()),
            linkage: note.linkage,
            distance: note.distance,
            false_share: None,
        }
        .with_measured(note.measured)
    }

    /// Sets what was measured of the set.
    #[must_use]
    pub fn with_measured(mut self, measured: Option<MeasuredSet>) -> Self {
        self.measured = measured.is_some();
        self.measured_score = measured.as_ref().map(|found| found.score);
        self.measured_part = measured.as_ref().and_then(|found| found.part).map(Part::name);
        self.samples = measured.map_or_else(Vec::new, |found| found.samples);
        self
    }

    /// Sets the expected shares of false hits of a list that begins with the strongest.
    pub fn estimate(hits: &mut [Self], false_hits: &FalseHits) {
        let shares = false_hits.up_to_each(hits.iter().map(|hit| (hit.prediction, hit.kind())));
        hits.iter_mut().zip(shares).for_each(|(hit, share)| hit.false_share = share);
    }

    /// Returns what its chance to be false depends on beside the prediction; `None` if the regime is unknown, or if the score is known.
    fn kind(&self) -> Option<HitKind> {
        if self.measured {
            return None;
        }
        let class = HitClass::of(self.linkage, self.essential.as_ref().map_or(0, Vec::len));
        Some(HitKind { order: self.genes.len(), regime: self.regime?, class })
    }

    /// Returns the essential genes for a cell of a table, as `top.csv` has them: `no` without any, `unknown` without annotations.
    pub fn essential_cell(&self) -> String {
        match self.essential.as_deref() {
            None => "unknown".to_owned(),
            Some([]) => "no".to_owned(),
            Some(genes) => genes.join(" "),
        }
    }

    /// Returns what to consider before the set is tested.
    pub fn flags(&self) -> String {
        let measured =
            self.measured_score.map(|score| measured_text(score, self.measured_part, &self.samples));
        let others = cautions(self.essential.as_deref(), self.linkage, self.distance);
        measured.into_iter().chain(others).collect::<Vec<_>>().join(", ")
    }
}

/// Samples of a set that a line names.
const NAMED: usize = 3;

/// Describes what was measured of a set: its score and part, and the alleles of its samples where they are stored.
fn measured_text(score: f64, part: Option<&str>, samples: &[MeasuredSample]) -> String {
    let score = match part {
        Some(part) => format!("measured ({part} part): {score:.4}"),
        None => format!("measured: {score:.4}"),
    };
    let named = samples.iter().take(NAMED);
    let mut named: Vec<String> =
        named.map(|sample| format!("{} {:.4}", sample.perturbation, sample.score)).collect();
    let more = samples.len().saturating_sub(NAMED);
    named.extend((more > 0).then(|| format!("{} more", count(more))));
    match samples {
        [] => score,
        [one] => format!("{score} ({})", one.perturbation),
        _ => format!("{score} ({})", named.join(", ")),
    }
}

/// Returns the essential genes of a set and the linkage of its genes, where they may change a measurement.
pub(super) fn cautions(
    essential: Option<&[String]>,
    linkage: Linkage,
    distance: Option<u32>,
) -> impl Iterator<Item = String> {
    let essential = essential.unwrap_or_default();
    let essential = (!essential.is_empty()).then(|| format!("essential: {}", essential.join(" ")));
    let kilobases = distance.map_or(0, |bases| (bases + 500) / 1_000);
    let linkage = match linkage {
        Linkage::Linked => Some(format!("linked: {kilobases} kb")),
        Linkage::Near => Some(format!("near: {kilobases} kb")),
        Linkage::None | Linkage::Unknown => None,
    };
    essential.into_iter().chain(linkage)
}

impl PredictionDocument {
    /// Describes a finished folder and the tables that were written from it.
    pub fn of(
        folder: &PredictionFolder,
        summary: &PredictionSummary,
        genes: &GeneTable,
        notes: &HitNotes<'_>,
        accuracy: &[RegimeAccuracy],
        files: Vec<PathBuf>,
    ) -> Self {
        let plan = folder.plan();
        let hits = |hits: Vec<Hit>| hits.iter().map(|hit| HitDocument::of(hit, genes, notes)).collect();
        Self {
            schema: 1,
            out: folder.path().to_owned(),
            what: plan.candidates.what.clone(),
            part: plan.part.to_string(),
            candidates: summary.candidates,
            scored: summary.scored(),
            left_out: summary.candidates - summary.scored(),
            mean: summary.mean(),
            accuracy: accuracy.to_vec(),
            top: hits(summary.extremes.top()),
            bottom: hits(summary.extremes.bottom()),
            cut_offs: None,
            enrichment: HitEnrichment::default(),
            files,
            unsealed: summary.unsealed,
        }
    }

    /// Returns the lists of hits that are not empty.
    pub fn lists(&self) -> Vec<HitList<'_>> {
        let HitEnrichment { top, bottom } = &self.enrichment;
        let lists = [("highest", &self.top, top), ("lowest", &self.bottom, bottom)];
        let lists = lists.into_iter().filter(|(_, hits, _)| !hits.is_empty());
        lists.map(|(name, hits, terms)| HitList { name, hits, enrichment: terms.as_ref() }).collect()
    }

    /// Adds the evidence for the highest and for the lowest predictions.
    #[must_use]
    pub fn with_evidence(mut self, [top, bottom]: [HitEvidence; 2]) -> Self {
        HitDocument::estimate(&mut self.top, &top.false_hits);
        HitDocument::estimate(&mut self.bottom, &bottom.false_hits);
        let is_known = |hit: &HitDocument| hit.measured || hit.false_share.is_some();
        let is_known = self.top.iter().chain(&self.bottom).any(is_known);
        let score = |evidence: &HitEvidence| evidence.false_hits.cut_off().score;
        self.cut_offs = is_known.then(|| CutOffs { negative: score(&bottom), positive: score(&top) });
        self.enrichment = HitEnrichment { top: top.enrichment, bottom: bottom.enrichment };
        self
    }
}

/// Document of gene sets that one run predicted, without a folder.
#[derive(Debug, Clone, Serialize)]
pub struct PredictedSets {
    /// Version of this document: 1.
    pub schema: u32,
    /// Name of the run.
    pub run: String,
    /// Sets, in the order of the request.
    pub sets: Vec<HitDocument>,
}

impl PredictedSets {
    /// Describes predicted sets.
    pub fn of(run: &str, hits: &[Hit], genes: &GeneTable, notes: &HitNotes<'_>) -> Self {
        let sets = hits.iter().map(|hit| HitDocument::of(hit, genes, notes)).collect();
        Self { schema: 1, run: run.to_owned(), sets }
    }
}

/// Returns the page of gene sets that one run predicted.
pub fn predicted_sets_page(document: &PredictedSets) -> Page {
    let PredictedSets { run, sets, .. } = document;
    let lowest = sets.iter().min_by(|a, b| a.prediction.total_cmp(&b.prediction));
    let lowest = lowest.map(|hit| format!("; the lowest is {:.4}, {}", hit.prediction, hit.names.join(" ")));
    Page {
        title: "Predicted gene sets".to_owned(),
        subtitle: run.clone(),
        made_by: "knockout for Python".to_owned(),
        findings: vec![format!("{run}: {}{}", counted(sets.len(), "prediction"), lowest.unwrap_or_default())],
        sections: vec![Section::new("sets", "").with(hit_table("genes", sets))],
        ..Page::default()
    }
}

/// Returns the page of a folder of predictions.
pub fn prediction_page(document: &PredictionDocument) -> Page {
    let left_out = (document.left_out > 0)
        .then(|| format!(" ({} left out by filters)", counted(document.left_out, "candidate")));
    let headline = format!(
        "{}: {}{}{}",
        document.out.display(),
        counted(document.scored, "prediction"),
        left_out.unwrap_or_default(),
        document.mean.map(|mean| format!(", mean {mean:.4}")).unwrap_or_default()
    );
    let mut sections = hit_sections(document);
    sections.extend(enrichment_sections(document));
    if !document.accuracy.is_empty() {
        let section = Section::new("accuracy", "accuracy (Pearson), for each regime");
        let sentences = accuracy_sentences(&document.accuracy).into_iter();
        sections.push(sentences.map(|sentence| format!("  {sentence}")).fold(section, Section::with));
    }
    sections.extend(lines("unknown", unknown_notes(document)));
    let mut files: Vec<String> = document.files.iter().map(|file| file.display().to_string()).collect();
    if files.is_empty() {
        let folder = document.out.join(PREDICTIONS);
        files.push(format!("they are in {}, as Parquet; --csv writes a table too", folder.display()));
    }
    sections.push(files.into_iter().fold(Section::new("files", ""), Section::with));
    Page {
        title: format!("Predictions: {}", document.what),
        made_by: "knockout predict".to_owned(),
        findings: [headline].into_iter().chain(unsealed_sentence(unsealed_blocks(document))).collect(),
        sections,
        ..Page::default()
    }
}

fn unsealed_blocks(document: &PredictionDocument) -> Option<String> {
    document.unsealed.then(|| format!("blocks of {}", document.out.display()))
}

fn hit_sections(document: &PredictionDocument) -> Vec<Section> {
    let lists = [("highest", &document.top), ("lowest", &document.bottom)];
    let lists = lists.into_iter().filter(|(_, hits)| !hits.is_empty());
    lists
        .flat_map(|(title, hits)| {
            let more = hits.len().saturating_sub(PRINTED);
            // A page has a button that shows them.
            let more = (more > 0).then(|| {
                let section = Section::new(format!("more-{title}"), "").only(Medium::Text);
                section.with(format!("… and {} more", count(more)))
            });
            [Section::new(title, "").with(hit_table(title, hits))].into_iter().chain(more)
        })
        .collect()
}

/// Returns sentences about the notes that the dataset has no data for.
fn unknown_notes(document: &PredictionDocument) -> Vec<String> {
    let hits = || document.top.iter().chain(&document.bottom);
    let sets: Vec<_> = hits().map(|hit| (hit.essential.as_deref(), hit.linkage)).collect();
    let unknown = unknown_sentences(&sets);
    let is_estimated = hits().any(|hit| hit.false_share.is_some());
    let cut_offs = document.cut_offs.filter(|_| is_estimated);
    let cut_offs = cut_offs.map(|CutOffs { negative, positive }| {
        format!(
            "false: the expected share of hits up to this one whose score would not be below {negative} or above {positive}, with its \
             95 % interval; estimated from the test part; \u{2013}: the set is measured, or the test part has fewer than {FEWEST_OF_KIND} samples of the regime, of linked \
             genes or of two essential ones"
        )
    });
    cut_offs.into_iter().chain(unknown).collect()
}

/// Returns a sentence about essential genes and one about linkage, where they are unknown for one of the sets.
pub(super) fn unknown_sentences(sets: &[(Option<&[String]>, Linkage)]) -> Vec<String> {
    let essential = sets
        .iter()
        .any(|(essential, _)| essential.is_none())
        .then_some("essential genes: unknown, the dataset has no annotations called \"essential\"");
    let linkage = sets
        .iter()
        .any(|(_, linkage)| *linkage == Linkage::Unknown)
        .then_some("linkage: unknown for genes whose position on a chromosome the dataset lacks");
    [essential, linkage].into_iter().flatten().map(str::to_owned).collect()
}

/// Returns the sections of terms that hits have in common.
fn enrichment_sections(document: &PredictionDocument) -> Vec<Section> {
    let HitEnrichment { top, bottom } = &document.enrichment;
    let lists = [("highest", top), ("lowest", bottom)];
    let lists = lists.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?)));
    lists.map(|(name, found)| enrichment_section(name, found)).collect()
}

/// Returns the section of terms that the hits of a list have in common.
pub fn enrichment_section(list: &str, found: &Enrichment) -> Section {
    let Enrichment { hits, candidates, tested, terms } = found;
    let section = Section::new(format!("terms-{list}"), format!("Terms enriched in the {list} predictions"));
    let what = format!(
        "{} of hits among {}; {} tested (hypergeometric, Benjamini-Hochberg, false-discovery rate up to {} %)",
        counted(*hits, "gene"),
        counted(*candidates, "candidate gene"),
        counted(*tested, "term"),
        100.0 * ENRICHED
    );
    if terms.is_empty() {
        return section.with(format!("None. {what}."));
    }
    let columns = [
        Column::text("term"),
        Column::text("annotations").wide_only(),
        Column::number("hits"),
        Column::number("candidates").wide_only(),
        Column::number("expected"),
        Column::number("p").wide_only(),
        Column::number("rate"),
        Column::text("genes").wide_only(),
    ];
    let row = |term: &EnrichedTerm| {
        let EnrichedTerm { annotations, term, hits, candidates, expected, p, q, genes } = term;
        [
            term.clone(),
            annotations.clone(),
            count(*hits),
            count(*candidates),
            format!("{expected:.1}"),
            format!("{p:.1e}"),
            format!("{q:.1e}"),
            genes.join(" "),
        ]
    };
    section
        .with(Table::new(columns).limited(PRINTED, SHOWN).with_rows(terms.iter().map(row)))
        .with(format!("{what}."))
}

fn hit_table(title: &str, hits: &[HitDocument]) -> Table {
    let columns = [
        Column::text(title),
        Column::text("systematic").wide_only(),
        Column::number("prediction"),
        Column::number("sd"),
        Column::number("false"),
        Column::text("regime"),
        Column::text("flags"),
    ];
    let row = |hit: &HitDocument| {
        let sd = hit.sd.map_or_else(dash, |sd| format!("{sd:.4}"));
        let regime = hit.regime.map_or("unknown", Regime::title).to_owned();
        let (names, genes) = (hit.names.join(" "), hit.genes.join(" "));
        let share = hit.false_share.as_ref().map_or_else(dash, false_text);
        [names, genes, format!("{:.4}", hit.prediction), sd, share, regime, hit.flags()]
    };
    let mut table = Table::new(columns).limited(PRINTED, SHOWN).with_rows(hits.iter().map(row));
    if hits.iter().all(|hit| hit.false_share.is_none()) {
        // A list in the order of a request has no ranks, and a test part may be small.
        table.columns.remove(4);
        table.rows.iter_mut().for_each(|row| drop(row.remove(4)));
    }
    table
}

/// Formats an expected share of false hits.
pub fn false_text(found: &FalseShare) -> String {
    let FalseShare { share, low, high, .. } = found;
    if *share == 0.0 {
        // None of a few records was false.
        return format!("under {:.0} %", 100.0 * high);
    }
    format!("{:.0} % [{:.0}, {:.0}]", 100.0 * share, 100.0 * low, 100.0 * high)
}

/// Returns the page of hits: the highest and lowest predictions, distributions, and the accuracy of the runs in each regime.
pub fn hits_page(
    document: &PredictionDocument,
    folder: &PredictionFolder,
    summary: &PredictionSummary,
    opened: &OpenRuns,
    calibration: Option<&Calibration>,
) -> Page {
    let plan = folder.plan();
    let runs: Vec<String> = plan.runs.iter().map(run_name).collect();
    let mut sections = hit_sections(document);
    sections.extend(enrichment_sections(document));
    sections.extend(lines("unknown", unknown_notes(document)));
    let mut facts = vec![
        Fact::new("predictions", count(summary.scored() as usize)),
        Fact::new("mean prediction", figure(summary.mean())),
    ];
    let hits = || document.top.iter().chain(&document.bottom);
    let is_listed = |found: &&RegimeAccuracy| {
        hits().next().is_none() || hits().any(|hit| hit.regime == Some(found.regime))
    };
    let accuracy: Vec<RegimeAccuracy> = document.accuracy.iter().filter(is_listed).cloned().collect();
    facts.extend(accuracy.iter().map(|found| {
        let pearson = found.pearson.map_or_else(|| "unknown".to_owned(), |_| figure(found.pearson));
        Fact::new(
            format!("Pearson, sets of {}, {}", counted(found.genes, "gene"), found.regime.title()),
            pearson,
        )
    }));
    let accuracy = accuracy_sentences(&accuracy).into_iter();
    let accuracy = accuracy.map(|sentence| format!("Accuracy (Pearson), {sentence}."));
    let scatter = calibration.map(|found| scatter("Test part", &found.measured, &found.predicted));
    Page {
        subtitle: format!("{} on {}", runs.join(", "), opened.dataset.manifest.name),
        made_by: format!("{} --out {}", plan.command, folder.path().display()),
        facts,
        findings: expected_hits(document)
            .into_iter()
            .chain(accuracy)
            .chain(unsealed_sentence(unsealed_blocks(document)))
            .chain(notes(calibration, opened))
            .collect(),
        figures: calibration
            .map(|found| Plot::Chart(groups(found)))
            .into_iter()
            .chain([Plot::Chart(histogram(summary, opened))])
            .chain(scatter.map(Plot::Scatter))
            .collect(),
        sections,
        ..prediction_page(document)
    }
}

/// Names a run and, where it was trained in steps, its step.
fn run_name(run: &RunEntry) -> String {
    let step = if run.step > 1 { format!(" (step {})", count(run.step)) } else { String::new() };
    format!("{}{step}", run.folder.display())
}

/// Returns how many hits of each list are expected to have a score beyond the cut-off.
fn expected_hits(document: &PredictionDocument) -> Vec<String> {
    let Some(CutOffs { negative, positive }) = document.cut_offs else { return Vec::new() };
    let lists =
        [("highest", &document.top, "above", positive), ("lowest", &document.bottom, "below", negative)];
    let measured = |(name, hits, beyond, cut_off): (&str, &Vec<HitDocument>, &str, f64)| {
        let scores: Vec<f64> = hits.iter().filter_map(|hit| hit.measured_score).collect();
        let is_beyond = |score: &&f64| if beyond == "above" { **score > cut_off } else { **score < cut_off };
        let strong = scores.iter().filter(is_beyond).count();
        (!scores.is_empty()).then(|| {
            format!(
                "{} of the {} are measured; {} of them have a score {beyond} {cut_off}.",
                count(scores.len()),
                counted(hits.len(), &format!("{name} prediction")),
                count(strong)
            )
        })
    };
    let expected = |(name, hits, beyond, cut_off): (&str, &Vec<HitDocument>, &str, f64)| {
        let last = hits.iter().rposition(|hit| hit.false_share.is_some())?;
        let FalseShare { share, low, high, .. } = hits[last].false_share.as_ref()?;
        let known = hits[..=last].iter().filter(|hit| hit.false_share.is_some()).count();
        // A tenth of a hit is more than nothing.
        let digits = usize::from(known as f64 * (1.0 - share) < 10.0);
        let number = |share: f64| format!("{:.digits$}", known as f64 * (1.0 - share));
        let is_untold = |hit: &&HitDocument| !hit.measured && hit.false_share.is_none();
        let others = match hits[..=last].iter().filter(is_untold).count() {
            0 => String::new(),
            others => format!(
                " They leave out {} for which the test part tells nothing (\u{2013} in the list).",
                count(others)
            ),
        };
        let which = if hits.iter().any(|hit| hit.measured) { " without a score" } else { "" };
        Some(format!(
            "Of {}{which}, about {} [{}, {}] are expected to have a score {beyond} {cut_off}.{others}",
            counted(known, &format!("{name} prediction")),
            number(*share),
            number(*high),
            number(*low)
        ))
    };
    lists.into_iter().flat_map(|list| expected(list).into_iter().chain(measured(list))).collect()
}

fn notes(calibration: Option<&Calibration>, opened: &OpenRuns) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(found) = calibration.filter(|found| found.measured.len() >= 10)
        && let Some(((low, below), (high, above))) = found.groups.first().zip(found.groups.last())
    {
        notes.push(format!(
            "The tenth of the test part with the lowest predictions (mean {low:.4}) was measured at {below:.4} on average, the \
             highest tenth (mean {high:.4}) at {above:.4}."
        ));
    }
    notes.extend(opened.dataset.manifest.synthetic.as_ref().map(|known| {
        format!(
            "The expected maximum of any model on this synthetic screen is {:.4}.",
            known.attainable_pearson
        )
    }));
    notes.extend(ceiling_sentence(&opened.dataset.manifest.bounds()).map(|mut sentence| {
        sentence[..1].make_ascii_uppercase();
        sentence + "."
    }));
    for run in &opened.runs {
        let uses = run.prior_knowledge();
        if !uses.is_empty() {
            notes.push(format!("The run of {}: {}.", run.entry.model, prior_knowledge_sentence(&uses)));
        }
    }
    notes
}

/// Returns the shares of predictions and of measured scores by bin.
fn histogram(summary: &PredictionSummary, opened: &OpenRuns) -> Chart {
    let scale = summary.scale;
    let measured = scale.count(opened.dataset.samples.scores().iter().copied());
    let series = |name: &str, counts: &[u64]| {
        let (sum, step) = (counts.iter().sum::<u64>().max(1), (scale.high - scale.low) / scale.bins as f64);
        let share = |count: u64| 100.0 * count as f64 / sum as f64;
        let points = counts.iter().enumerate();
        Series::new(name, points.map(|(bin, &count)| (scale.low + (bin as f64 + 0.5) * step, share(count))))
    };
    Chart {
        title: "Distribution of predictions and of measured scores".to_owned(),
        across: "score".to_owned(),
        up: "share of each (%)".to_owned(),
        series: vec![series("predicted", summary.histogram()), series("measured", &measured)],
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_score_names_three_samples() {
        let samples: Vec<MeasuredSample> = ["a-1", "a-2", "a-3", "a-4", "a-5"]
            .map(|allele| MeasuredSample { perturbation: allele.to_owned(), score: 0.5, measurements: 1 })
            .to_vec();
        assert_eq!(measured_text(-1.25, None, &[]), "measured: -1.2500");
        assert_eq!(measured_text(0.5, Some("test"), &samples[..1]), "measured (test part): 0.5000 (a-1)");
        assert_eq!(measured_text(0.5, None, &samples[..2]), "measured: 0.5000 (a-1 0.5000, a-2 0.5000)");
        assert_eq!(
            measured_text(0.5, Some("train"), &samples),
            "measured (train part): 0.5000 (a-1 0.5000, a-2 0.5000, a-3 0.5000, 2 more)"
        );
    }
}
