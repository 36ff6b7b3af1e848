//! The HTML page in a real browser: it draws, searches, sorts, zooms, and loads nothing.
//!
//! Here is what every page's test shares, and the page of a trace; the others are in `browser/`.
//!
//! Ignored where there is no Chromium (`CHROMIUM`, or `chromium` on the path). `KNOCKOUT_HTML=folder` keeps the page and its
//! screenshots, for looking at them.

pub(crate) mod experiment_page;
pub(crate) mod run_page;

use crate::fixtures::{analysis, trace};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn page() -> String {
    knockout_report::analysis_html(&analysis("three steps.json", &trace()))
}

fn run(browser: &Path, profile: &Path, file: &Path, arguments: &[&str]) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--virtual-time-budget=3000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the script inside the page left behind.
fn seen(dom: &str) -> Value {
    let start = dom.find("<pre id=\"seen\">").expect("the page's own script did not end");
    let rest = &dom[start + 15..];
    let text = &rest[..rest.find("</pre>").unwrap()];
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&plain).unwrap()
}

/// A page on disk beside a copy that a script has been put into, and a browser for both.
struct Tried {
    browser: PathBuf,
    folder: tempfile::TempDir,
    page: String,
}

impl Tried {
    fn new(browser: &Path, page: String, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("<script>{script}</script></body>");
        std::fs::write(folder.path().join("tried.html"), page.replace("</body>", &script)).unwrap();
        Self { browser: browser.to_owned(), folder, page }
    }

    /// What the script saw in a window of this size.
    fn seen(&self, size: &str, more: &[&str]) -> Value {
        let size = format!("--window-size={size}");
        let arguments = [&[size.as_str(), "--dump-dom"], more].concat();
        seen(&run(&self.browser, self.folder.path(), &self.folder.path().join("tried.html"), &arguments))
    }

    /// Keeps the page and its pictures where `KNOCKOUT_HTML` says.
    fn keep(&self, name: &str) {
        let Some(folder) = std::env::var_os("KNOCKOUT_HTML").map(PathBuf::from) else { return };
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, &self.page).unwrap();
        for (kind, size, more) in
            [("wide", "1200,2600", None), ("dark", "1200,2600", Some(DARK)), ("phone", "500,2600", None)]
        {
            let size = format!("--window-size={size}");
            let shot = format!("--screenshot={}", folder.join(format!("{name}-{kind}.png")).display());
            let arguments: Vec<&str> = [size.as_str(), &shot].into_iter().chain(more).collect();
            run(&self.browser, &folder.join("chromium"), &file, &arguments);
        }
    }
}

/// A reader who prefers dark pages.
const DARK: &str = "--blink-settings=preferredColorScheme=0";

pub(crate) fn the_page_works_in_a_browser(browser: &Path) {
    let tried = Tried::new(browser, page(), include_str!("browser/interact.js"));
    let seen = tried.seen("1200,1400", &[]);
    assert_eq!(seen["error"], Value::Null, "{seen:#}");
    assert_eq!(seen["ready"], "yes");
    for section in
        ["summary", "categories", "steps", "critical", "timeline", "flame", "operations", "device", "lanes"]
    {
        assert!(
            seen["sections"].as_array().unwrap().contains(&json!(section)),
            "no section {section}: {seen:#}"
        );
    }
    assert_eq!(seen["found"].as_array().unwrap().len(), 2, "aten::relu and the kernel: {seen:#}");
    assert!(seen["note"].as_str().unwrap().starts_with("2 of "));
    assert_eq!(
        (&seen["sorted"], &seen["most"], &seen["least"]),
        (&json!("descending"), &json!("15"), &json!("1"))
    );
    let windows: Vec<&str> = seen["window"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert!(windows[0] != windows[1] && windows[1] != windows[2], "zooming changes the window: {windows:?}");
    assert_eq!(windows[0], windows[3], "and `all` brings it back");
    assert!(seen["colors"].as_u64().unwrap() > 4, "the timeline is drawn: {seen:#}");
    assert!(seen["flame"].as_u64().unwrap() > 5);
    assert!(seen["zoomed"].as_str().unwrap().starts_with('↑'));
    assert!(!seen["back"].as_str().unwrap().starts_with('↑'));
    assert!(seen["highlighted"].as_str().unwrap().ends_with("boxes"));
    assert!(seen["step"].as_str().unwrap().starts_with("ProfilerStep#0: 900.000 µs"), "{seen:#}");
    assert_eq!(seen["tip"], true);
    assert_eq!(seen["overflow"], false, "nothing is wider than the window");
    let phone = tried.seen("500,900", &[]);
    assert_eq!((&phone["error"], &phone["overflow"]), (&Value::Null, &json!(false)), "also on a phone");
    tried.keep("trace");
}
