//! The dataset with its report, its recipe and its splits: all of it or nothing.

use super::Import;
use knockout_base::error::{Error, Result};
use std::path::Path;

impl Import {
    /// Writes the dataset to a folder that does not exist yet. Beside the data it holds `import-report.json`,
    /// `recipe.toml` and, for data of the Python system, `splits/<name>.parquet`. `on_rows` receives the number of rows written.
    pub fn write(&mut self, out: &Path, on_rows: &(dyn Fn(usize) + Sync)) -> Result<()> {
        if self.report.name.is_empty() {
            self.report.name = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.dataset.manifest.name.clone_from(&self.report.name);
        }
        let Self { dataset, report, splits, recipe } = self;
        dataset.write_with(out, on_rows, |folder, manifest| {
            let report = serde_json::to_string_pretty(report)
                .map_err(|error| Error::failure(error.to_string()).caused_by(error))?;
            folder.write_new("import-report.json", report + "\n")?;
            folder.write_new("recipe.toml", recipe.to_toml())?;
            splits.iter().try_for_each(|split| {
                folder.write_new(format!("splits/{}.parquet", split.name), split.split.encode(manifest)?)
            })
        })
    }
}
