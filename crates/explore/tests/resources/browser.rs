//! The application in a real browser: a script uses every view, at the width of a screen and of a phone.
//!
//! The policy of the pages forbids other scripts, so a proxy puts the script into the pages under the number of their own. With
//! `KNOCKOUT_HTML=folder` pictures of all views are kept, for looking at them.

use crate::support::{Client, folder, send, served};
use knockout_data::screen::Dataset;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

const SCRIPT: &str = include_str!("use.js");

/// Passes one request on, and puts the script into the page that comes back.
fn pass_on(mut stream: TcpStream, client: &Client) {
    let mut head = Vec::new();
    let mut block = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut block) {
            Ok(read) if read > 0 => head.extend_from_slice(&block[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let target = text.split(' ').nth(1).unwrap_or("/").to_owned();
    let request = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", client.port);
    let answer = send(client.port, request.as_bytes());
    let nonce =
        answer.body.split("<script nonce=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
    let body = answer.body.replace("</body>", &format!("<script nonce=\"{nonce}\">{SCRIPT}</script></body>"));
    let head: Vec<&str> = answer.head.lines().filter(|line| !line.starts_with("Content-Length")).collect();
    let head = head.join("\r\n");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok();
}

fn run(browser: &Path, profile: &Path, arguments: &[&str]) -> String {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-sync",
        ])
        .args(["--disable-component-update", "--hide-scrollbars", "--virtual-time-budget=4000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the script left in the page.
fn seen(dom: &str) -> Value {
    let text = dom.split("<pre id=\"seen\">").nth(1).expect("the script did not end");
    let text = text.split("</pre>").next().unwrap();
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&plain).unwrap()
}

pub(crate) fn every_view_works_in_a_browser(browser: &Path) {
    let home = folder();
    let dataset = Dataset::open(&home.path().join("tiny")).unwrap();
    let genes = dataset.cell.genes().genes();
    let names: Vec<&str> =
        dataset.samples.genes(0).iter().map(|&gene| &genes[gene as usize].systematic[..]).collect();
    let views = [
        ("home", String::new()),
        ("gene", format!("gene?of=runs/stack-0&name={}&with={}", names[0], names[1])),
        ("network", format!("gene?of=runs/dango-0&name={}", names[0])),
        ("genes", "gene".to_owned()),
        ("set", format!("set?of=runs/stack-0&genes={}", names.join(","))),
        ("hits", "hits?of=runs/stack-0&cutoff=-0.05".to_owned()),
        ("runs", "runs".to_owned()),
        ("run", "run?of=runs/stack-0".to_owned()),
        ("compare", "runs?a=runs/stack-0&b=runs/dango-0".to_owned()),
        ("missing", "gene?name=NOTAGENE".to_owned()),
    ];
    served(&[home.path().to_owned()], |client| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let passing = client.clone();
        // The proxy ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let client = passing.clone();
                thread::spawn(move || pass_on(stream, &client));
            }
        });
        let profile = tempfile::tempdir().unwrap();
        let kept = std::env::var_os("KNOCKOUT_HTML").map(PathBuf::from);
        for (name, address) in &views {
            let url = format!("http://127.0.0.1:{port}/{}/{address}", client.token);
            for (width, size) in [("wide", "--window-size=1400,1000"), ("phone", "--window-size=500,900")] {
                let seen = seen(&run(browser, profile.path(), &["--dump-dom", size, &url]));
                check(name, width, &seen);
            }
            let Some(kept) = &kept else { continue };
            let url = format!("http://127.0.0.1:{}/{}/{address}", client.port, client.token);
            for (width, size) in [("wide", "--window-size=1400,1800"), ("phone", "--window-size=390,1800")] {
                let shot = format!("--screenshot={}", kept.join(format!("{name}-{width}.png")).display());
                run(browser, profile.path(), &[&shot, size, &url]);
            }
        }
    });
}

fn check(name: &str, width: &str, seen: &Value) {
    let place = format!("{name}, {width}: {seen:#}");
    assert_eq!((&seen["error"], &seen["ready"]), (&Value::Null, &Value::from("yes")), "{place}");
    assert_eq!(seen["overflow"], false, "{place}");
    assert_eq!(seen["views"], 6, "{place}");
    assert_eq!(seen["unlabelled"], 0, "{place}");
    match name {
        "gene" => {
            assert_eq!(seen["sorted"], Value::from(vec!["ascending", "descending"]), "{place}");
            assert!(seen["svgs"].as_u64() >= Some(2) && seen["files"].as_u64() >= Some(4), "{place}");
            assert!(seen["zoomed"] != seen["whole"] && seen["all"] == seen["whole"], "{place}");
            assert!(seen["suggested"].as_u64() >= Some(1), "{place}");
            assert!(seen["svgFile"].as_str().unwrap().starts_with("<svg"), "{place}");
        }
        "runs" => {
            assert_eq!((&seen["runs"], &seen["filtered"]), (&Value::from(2), &Value::from(1)), "{place}");
            assert!(seen["colours"].as_u64() > Some(2), "the curves are drawn: {place}");
        }
        "missing" => assert!(seen["text"].as_str().unwrap().contains("NOTAGENE is not a gene"), "{place}"),
        _ => {}
    }
}
