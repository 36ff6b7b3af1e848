//! Rules that assign events to categories, read from TOML.
//!
//! A rule matches the name and `cat` of one event. The call tree of a lane adds the enclosing events.

use super::words;
use crate::collect::id::CategoryId;
use knockout_base::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The built-in rules.
const DEFAULT_TOML: &str = include_str!("default.toml");

/// The remedy for an incomplete file.
const WHOLE_FILE: &str = "a rule file has `version = 1`, [[rule]] entries and [otherwise], and replaces the built-in rules: begin with a copy of crates/analyze/src/collect/rules/default.toml";

/// A rule set.
#[derive(Debug, Clone)]
pub struct Rules {
    name: String,
    list: Vec<CategoryRule>,
    categories: Vec<Category>,
    otherwise: BTreeMap<String, CategoryId>,
    fallback: CategoryId,
}

/// Categories that a file may have. Each may occur on the host and on the device, and an identifier is at most 255.
const MAX_CATEGORIES: usize = 127;

/// A category of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Name in the rules.
    pub name: String,
    /// Whether it is work on the device.
    pub device: bool,
    /// Role, by which findings look for it.
    pub role: Role,
    /// Colour on pages, as `#rrggbb`; `None` leaves the choice to the page.
    pub colour: Option<String>,
}

/// The part that a category plays in a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Making batches, or waiting for them.
    DataLoading,
    /// Making subgraphs.
    GraphProcessing,
    /// The model's forward pass.
    Forward,
    /// The loss.
    Loss,
    /// The backward pass.
    Backward,
    /// Clipping and the optimiser.
    Optimiser,
    /// Exchange between ranks.
    Communication,
    /// A host thread waits for the device.
    DeviceWait,
    /// The device waits.
    Synchronisation,
    /// A host thread sleeps in its call stack.
    Sleep,
    /// A span drawn over device work with nothing under it.
    Idle,
    /// Time that no rule names.
    Unattributed,
    /// Any other work.
    #[default]
    Work,
}

impl Role {
    /// Whether a lane has an event in it and does nothing.
    pub fn is_asleep(self) -> bool {
        matches!(self, Self::Sleep | Self::Idle)
    }

    /// Whether it is idle time.
    pub fn is_wait(self) -> bool {
        self.is_asleep() || matches!(self, Self::DeviceWait | Self::Synchronisation)
    }
}

#[derive(Debug, Clone)]
struct CategoryRule {
    category: CategoryId,
    claims: Claims,
    cats: Vec<String>,
    not_cats: Vec<String>,
    words: Vec<Vec<String>>,
    begins: Vec<Vec<String>>,
    not_words: Vec<Vec<String>>,
    autograd: Option<bool>,
    not_inside: Vec<CategoryId>,
}

/// Where an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EventOrigin {
    /// Autograd: the event has a sequence number.
    Autograd,
    /// A producer that writes no `cat`, and what its lanes show instead.
    Lane(LaneKind),
    Other,
}

/// Content of a lane, by the names of its process and thread, for producers that write no `cat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LaneKind {
    /// Kernels and copies of a device.
    Stream,
    /// Copies of a device.
    Copies,
    /// Spans drawn over the work of a device.
    Summary,
    /// Calls into the driver of a device.
    Calls,
    /// Threads that run compiled operations on the host.
    Operators,
    /// Another thread of such a producer.
    Host,
}

impl LaneKind {
    /// Returns the kind of a lane of JAX (XLA) or rocprof, by the names of its process and thread.
    pub(crate) fn of(process: &str, thread: &str) -> Option<Self> {
        // rocprof numbers its processes: `6 GPU0`.
        let numbered =
            process.split_once(' ').filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
        let process = numbered.map_or(process, |(_, name)| name);
        let is_gpu = |name: &str| {
            name.strip_prefix("GPU").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        if let Some(device) = process.strip_prefix("/device:") {
            let is_work = thread.starts_with("Stream") || device.starts_with("TPU") && thread == "XLA Ops";
            return Some(if is_work { Self::Stream } else { Self::Summary });
        }
        Some(match process {
            "COPY" => Self::Copies,
            "CPU HIP API" | "CPU HSA API" => Self::Calls,
            "Markers and Ranges" => Self::Host,
            name if is_gpu(name) => Self::Stream,
            name if !name.starts_with("/host:") => return None,
            _ if thread.starts_with("tf_XLA") => Self::Operators,
            _ => Self::Host,
        })
    }

    /// Returns the `cat` that PyTorch would write for an event of such a lane.
    pub(crate) fn cat(self, name: &str) -> &'static str {
        match self {
            Self::Copies => "gpu_memcpy",
            Self::Stream if name.starts_with("Memcpy") => "gpu_memcpy",
            Self::Stream if name.starts_with("Memset") => "gpu_memset",
            Self::Stream => "kernel",
            // They repeat the work of the streams, so they are in no sum.
            Self::Summary => "Trace",
            Self::Calls => "hip_runtime",
            Self::Operators => "cpu_op",
            // As in `$train.py:12 step`.
            Self::Host if name.starts_with('$') => "python_function",
            Self::Host if name.starts_with("cuda") || name.starts_with("hip") => "cuda_runtime",
            Self::Host
                if name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(char::is_uppercase)) =>
            {
                "cuda_driver"
            }
            Self::Host => "",
        }
    }
}

/// Scope of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Claims {
    Inside,
    Itself,
}

/// The categories that the rules give one kind of event, independent of the events around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindCategories {
    /// Takes the event's self time, whatever encloses it.
    pub(crate) itself: Option<CategoryId>,
    /// Opens a phase; the second part lists the phases in which it does not. Tried in order.
    pub(crate) phases: Vec<(CategoryId, Vec<CategoryId>)>,
    /// Where its time goes outside every phase.
    pub(crate) otherwise: CategoryId,
}

impl KindCategories {
    /// Returns the category of an event that no other encloses.
    pub(crate) fn alone(&self) -> CategoryId {
        let phase = || self.phases.first().map(|(phase, _)| *phase);
        self.itself.or_else(phase).unwrap_or(self.otherwise)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    version: u32,
    rule: Vec<toml::Spanned<RuleEntry>>,
    otherwise: BTreeMap<String, String>,
    #[serde(default)]
    category: Vec<toml::Spanned<CategoryEntry>>,
}

/// The `[[category]]` entries of a file alone.
#[derive(Deserialize)]
struct CategoryEntries {
    category: Vec<CategoryEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryEntry {
    name: String,
    role: Option<Role>,
    colour: Option<String>,
}

impl CategoryEntry {
    fn check(&self, categories: &[Category]) -> Result<(), String> {
        if !categories.iter().any(|category| category.name == self.name) {
            return Err(format!("{:?} is not a category of these rules", self.name));
        }
        let is_hex = |digits: &str| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match &self.colour {
            Some(colour) if !colour.strip_prefix('#').is_some_and(is_hex) => {
                Err(format!("the colour {colour:?} is not of the form \"#d9534f\""))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    category: String,
    claims: Claims,
    #[serde(default)]
    device: bool,
    #[serde(default)]
    cats: Vec<String>,
    #[serde(default)]
    not_cats: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    begins: Vec<String>,
    #[serde(default)]
    not_words: Vec<String>,
    autograd: Option<bool>,
    #[serde(default)]
    not_inside: Vec<String>,
}

impl Rules {
    /// The built-in rules.
    pub fn default_rules() -> Result<Self> {
        Self::from_toml("default.toml", DEFAULT_TOML)
    }

    /// Reads a rule file; `file` only names it in messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self> {
        let fault = |at: usize, message: String| {
            let line = 1 + text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() as u64;
            Error::request(format!("could not use the rules: {message}")).in_file(file).on_line(line)
        };
        let parsed: RulesFile = toml::from_str(text).map_err(|error| {
            let message = format!("{}; {WHOLE_FILE}", error.message().trim());
            fault(error.span().map_or(0, |span| span.start), message)
        })?;
        if parsed.version != 1 {
            return Err(fault(
                0,
                format!("version {} is not known (this program reads version 1)", parsed.version),
            ));
        }
        let mut rules = Self {
            name: file.to_owned(),
            list: Vec::new(),
            categories: Vec::new(),
            otherwise: BTreeMap::new(),
            fallback: CategoryId::from_index(0),
        };
        for entry in &parsed.rule {
            let rule = entry.get_ref();
            rules
                .category(&rule.category, Some(rule.device))
                .map_err(|message| fault(entry.span().start, message))?;
        }
        for entry in &parsed.rule {
            let at = entry.span().start;
            let rule = rules.rule(entry.get_ref()).map_err(|message| fault(at, message))?;
            rules.list.push(rule);
        }
        for (cat, category) in &parsed.otherwise {
            let id = rules.category(category, None).map_err(|message| fault(0, message))?;
            rules.otherwise.insert(cat.to_lowercase(), id);
        }
        rules.fallback = *rules.otherwise.get("other").ok_or_else(|| {
            fault(0, "[otherwise] has no entry `other`; add one, for events that nothing names".to_owned())
        })?;
        let built_in: CategoryEntries = toml::from_str(DEFAULT_TOML)
            .map_err(|error| Error::failure("the built-in rules").caused_by(error))?;
        for entry in &parsed.category {
            let checked = entry.get_ref().check(&rules.categories);
            checked.map_err(|message| fault(entry.span().start, message))?;
        }
        // The file's own entries come last, so that they win.
        let own = parsed.category.iter().map(toml::Spanned::get_ref);
        for entry in built_in.category.iter().chain(own) {
            for category in rules.categories.iter_mut().filter(|category| category.name == entry.name) {
                category.role = entry.role.unwrap_or(category.role);
                category.colour = entry.colour.clone().or(category.colour.take());
            }
        }
        Ok(rules)
    }

    /// Returns the name of the rules: that of their file.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn categories(&self) -> &[Category] {
        &self.categories
    }

    /// Returns the category of operators outside any phase.
    pub(crate) fn outside_phases(&self) -> Option<&str> {
        let id = self.otherwise.get("cpu_op").or_else(|| self.otherwise.get("operator"))?;
        self.categories.get(id.index()).map(|category| category.name.as_str())
    }

    pub(crate) fn role(&self, id: CategoryId) -> Role {
        self.categories.get(id.index()).map_or(Role::Work, |category| category.role)
    }

    /// The number of a category, made if new; `device` must agree between rules of one category name and side.
    fn category(&mut self, name: &str, device: Option<bool>) -> Result<CategoryId, String> {
        let same = |category: &Category| category.name == name && device.is_none_or(|d| d == category.device);
        if let Some(index) = self.categories.iter().position(same) {
            return Ok(CategoryId::from_index(index));
        }
        if name.trim().is_empty() {
            return Err("a category needs a name".to_owned());
        }
        if self.categories.len() >= MAX_CATEGORIES {
            return Err(format!("more than {MAX_CATEGORIES} categories"));
        }
        let device = device.unwrap_or(false);
        self.categories.push(Category { name: name.to_owned(), device, role: Role::default(), colour: None });
        Ok(CategoryId::from_index(self.categories.len() - 1))
    }

    /// Returns the categories of an event of this name and `cat` on the device: each category replaced by its device twin.
    pub(crate) fn device_categories_of(
        &mut self,
        name: &str,
        cat: &str,
        origin: EventOrigin,
    ) -> KindCategories {
        let categories = self.categories_of(name, cat, origin);
        KindCategories {
            itself: categories.itself.map(|id| self.on_device(id)),
            phases: categories
                .phases
                .into_iter()
                .map(|(id, not_inside)| {
                    let not_inside = not_inside.into_iter().map(|id| self.on_device(id)).collect();
                    (self.on_device(id), not_inside)
                })
                .collect(),
            otherwise: self.on_device(categories.otherwise),
        }
    }

    /// Returns the device twin of a category: that of the same name on the device, created if new.
    fn on_device(&mut self, id: CategoryId) -> CategoryId {
        let Some(category) = self.categories.get(id.index()).filter(|category| !category.device) else {
            return id;
        };
        let twin = Category { device: true, ..category.clone() };
        let index = self.categories.iter().position(|category| *category == twin).unwrap_or_else(|| {
            self.categories.push(twin);
            self.categories.len() - 1
        });
        CategoryId::from_index(index)
    }

    fn rule(&mut self, entry: &RuleEntry) -> Result<CategoryRule, String> {
        if entry.words.is_empty() && entry.begins.is_empty() && entry.cats.is_empty() {
            return Err(
                "a rule needs `words`, `begins` or `cats`; without them it would take every event".to_owned()
            );
        }
        let mut not_inside = Vec::new();
        for name in &entry.not_inside {
            let Some(index) = self.categories.iter().position(|c| &c.name == name && !c.device) else {
                return Err(format!("not_inside names {name:?}, which is not a category of these rules"));
            };
            not_inside.push(CategoryId::from_index(index));
        }
        let lower = |cats: &[String]| cats.iter().map(|cat| cat.to_lowercase()).collect();
        Ok(CategoryRule {
            category: self.category(&entry.category, Some(entry.device))?,
            claims: entry.claims,
            cats: lower(&entry.cats),
            not_cats: lower(&entry.not_cats),
            words: phrases(&entry.words)?,
            begins: phrases(&entry.begins)?,
            not_words: phrases(&entry.not_words)?,
            autograd: entry.autograd,
            not_inside,
        })
    }

    /// Returns the categories of events of this name and `cat`.
    pub(crate) fn categories_of(&self, name: &str, cat: &str, origin: EventOrigin) -> KindCategories {
        let cat = cat.to_lowercase();
        let cut = words::words(name);
        let mut categories = KindCategories {
            itself: None,
            phases: Vec::new(),
            otherwise: self.otherwise.get(&cat).copied().unwrap_or(self.fallback),
        };
        for rule in self.list.iter().filter(|rule| rule.matches(&cat, &cut, origin)) {
            match rule.claims {
                Claims::Itself if categories.itself.is_none() => categories.itself = Some(rule.category),
                Claims::Inside => categories.phases.push((rule.category, rule.not_inside.clone())),
                Claims::Itself => {}
            }
        }
        categories
    }
}

/// Each text cut into its words.
fn phrases(list: &[String]) -> Result<Vec<Vec<String>>, String> {
    let cut = |phrase: &String| match words::words(phrase) {
        cut if cut.is_empty() => {
            Err(format!("{phrase:?} has no letters or digits, so no name can contain it"))
        }
        cut => Ok(cut),
    };
    list.iter().map(cut).collect()
}

impl CategoryRule {
    fn matches(&self, cat: &str, name: &[String], origin: EventOrigin) -> bool {
        (self.cats.is_empty() || self.cats.iter().any(|own| own == cat))
            && !self.not_cats.iter().any(|other| other == cat)
            && self.autograd.is_none_or(|wanted| wanted == (origin == EventOrigin::Autograd))
            && (self.words.is_empty() || self.words.iter().any(|phrase| words::contains(name, phrase)))
            && (self.begins.is_empty() || self.begins.iter().any(|phrase| name.starts_with(phrase)))
            && !self.not_words.iter().any(|phrase| words::contains(name, phrase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(rules: &Rules, id: CategoryId) -> &str {
        &rules.categories()[id.index()].name
    }

    #[test]
    fn the_default_rules_are_valid_and_name_whole_words_only() {
        let rules = Rules::default_rules().unwrap();
        let phase = |name: &str| {
            let categories = rules.categories_of(name, "cpu_op", EventOrigin::Other);
            categories.phases.first().map(|(id, _)| category(&rules, *id).to_owned())
        };
        assert_eq!(phase("autograd::engine::evaluate_function: MmBackward0").as_deref(), Some("backward"));
        assert_eq!(phase("Optimizer.step#AdamW.step").as_deref(), Some("optimiser"));
        assert_eq!(phase("ProfilerStep#12"), None);
        assert_eq!(phase("aten::masked_fill"), None);
        assert_eq!(phase("aten::mse_loss").as_deref(), Some("loss"));
        assert_eq!(phase("aten::mse_loss_backward").as_deref(), Some("backward"));
        let launch = rules.categories_of("cudaLaunchKernel", "cuda_runtime", EventOrigin::Other);
        assert_eq!(launch.itself.map(|id| category(&rules, id)), Some("runtime"));
    }

    #[test]
    fn every_phase_of_the_recorder_has_its_category() {
        use knockout_trace::meter::StepPhase;
        use knockout_trace::{BACKGROUND, FOREGROUND};
        let rules = Rules::default_rules().unwrap();
        let first = |name: &str, cat| {
            let categories = rules.categories_of(name, cat, EventOrigin::Other);
            categories.phases.first().map(|(id, _)| category(&rules, *id).to_owned()).unwrap_or_default()
        };
        for phase in StepPhase::ALL {
            let wanted = match phase {
                StepPhase::Fetch | StepPhase::Collate | StepPhase::Wait => "data loading",
                StepPhase::Process => "graph processing",
                StepPhase::Barrier => "waiting for ranks",
                StepPhase::Exchange => "communication",
                StepPhase::Clip | StepPhase::Optimiser => "optimiser",
                other => other.name(),
            };
            assert_eq!(first(phase.name(), FOREGROUND), wanted);
            // Words further back in a name are not looked at, whichever they are.
            for part in ["loss", "forward0", "backward", "optimizer state", "collate"] {
                assert_eq!(first(&phase.part(part).to_string(), FOREGROUND), wanted, "{phase}/{part}");
            }
            assert_eq!(first(phase.name(), BACKGROUND), "loading in the background");
        }
        assert_eq!(first("spmm of the loss", FOREGROUND), "", "left to the phase around it");
    }

    #[test]
    fn every_built_in_category_has_an_entry_with_a_role_and_a_colour() {
        let entries: CategoryEntries = toml::from_str(DEFAULT_TOML).unwrap();
        for category in Rules::default_rules().unwrap().categories() {
            let of_name: Vec<_> =
                entries.category.iter().filter(|entry| entry.name == category.name).collect();
            let [entry] = of_name[..] else { panic!("{} has {} entries", category.name, of_name.len()) };
            assert!(entry.role.is_some() && entry.colour.is_some(), "{}", category.name);
        }
    }

    /// Returns a file of one rule, `[[category]]` entries after it.
    fn file_of(category: &str, entries: &str) -> String {
        format!(
            "version = 1\n[[rule]]\ncategory = {category:?}\nclaims = \"inside\"\nwords = [\"x\"]\n[otherwise]\nother = \"rest\"\n{entries}"
        )
    }

    #[test]
    fn a_category_without_an_entry_has_the_role_of_the_built_in_one() {
        let rules = Rules::from_toml("mine.toml", &file_of("data loading", "")).unwrap();
        let [loading, rest] = rules.categories() else { panic!("{:?}", rules.categories()) };
        assert_eq!((loading.role, loading.colour.as_deref()), (Role::DataLoading, Some("#d9534f")));
        assert_eq!((rest.role, &rest.colour), (Role::Work, &None));
    }

    #[test]
    fn an_entry_gives_a_category_of_any_name_its_role_and_colour() {
        let entry = "[[category]]\nname = \"tokeniser\"\nrole = \"data-loading\"\ncolour = \"#00ff00\"\n";
        let rules = Rules::from_toml("mine.toml", &file_of("tokeniser", entry)).unwrap();
        let own = &rules.categories()[0];
        assert_eq!((own.role, own.colour.as_deref()), (Role::DataLoading, Some("#00ff00")));
    }

    #[test]
    fn an_entry_that_cannot_be_used_is_refused_with_its_line() {
        for (entry, wanted) in [
            ("name = \"b\"", "\"b\" is not a category"),
            ("name = \"a\"\ncolour = \"red;x\"", "the colour \"red;x\""),
        ] {
            let text = file_of("a", &format!("[[category]]\n{entry}\n"));
            let error = Rules::from_toml("mine.toml", &text).unwrap_err().to_string();
            assert!(error.contains(wanted) && error.contains("line 8"), "{error}");
        }
    }

    #[test]
    fn a_bad_rule_is_refused_with_its_line() {
        let text = "version = 1\n\n[[rule]]\ncategory = \"a\"\nclaims = \"inside\"\nwords = [\"::\"]\n\n[otherwise]\nother = \"rest\"\n";
        let error = Rules::from_toml("mine.toml", text).unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains("line 3"), "{error}");
        let error = Rules::from_toml("mine.toml", "version = 1\nrules = 3\n").unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
        let error =
            Rules::from_toml("mine.toml", "version = 9\nrule = []\n[otherwise]\n").unwrap_err().to_string();
        assert!(error.contains("version 9"), "{error}");
    }
}
