//! Traces that no profiler writes: odd types, huge numbers, deep nesting, unlike names, overlapping and nested events.

use crate::Verdict;
use crate::program::Home;
use crate::random::Random;
use std::fmt::Write as _;
use std::fs;

const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e999",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "0.000000000001",
    "1e-400",
    "3.999999999999999999999",
    "null",
    "\"7\"",
    "[]",
];
const NAMES: [&str; 10] = [
    "aten::mm",
    "ProfilerStep#1",
    "ProfilerStep#99999999999999999999",
    "ncclKernel",
    "",
    "</script><b>",
    "\\u0000",
    "\\ud800",
    "cudaLaunchKernel",
    "[memory]",
];
const PHASES: [&str; 12] = ["X", "B", "E", "i", "M", "C", "s", "f", "b", "e", "", "XX"];

pub(crate) fn once(home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    let (what, text) = match random.below(5) {
        0 => ("odd fields", odd(random)),
        1 => ("unlike names, nested", shaped(random, |place, count| (place, 2 * (count - place)))),
        2 => ("unlike names, overlapping", shaped(random, |place, count| (place, count))),
        3 => ("many steps", steps(random)),
        _ => ("nested JSON", nested(random)),
    };
    (what, analyzed(home, &text))
}

fn analyzed(home: &Home, text: &str) -> Verdict {
    let scratch = home.scratch()?;
    fs::write(scratch.path().join("hostile.json"), text).map_err(|error| error.to_string())?;
    let args = ["trace", "analyze", "hostile.json", "-q", "--html", "page.html", "--json"];
    home.program.expect(scratch.path(), &args, &[0, 2, 3, 6]).map(drop)
}

fn odd(random: &mut Random) -> String {
    let mut out = String::from("{\"traceEvents\":[");
    for place in 0..=random.below(60) {
        if place > 0 {
            out.push(',');
        }
        write!(
            out,
            "{{\"ph\":\"{}\",\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"id\":{},\"args\":{{\"correlation\":{},\"stream\":{},\"Total Allocated\":{}}}}}",
            random.of(&PHASES),
            random.of(&NAMES),
            random.of(&["cpu_op", "kernel", "gpu_memcpy", "user_annotation", "gpu_user_annotation", "python_function", ""]),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
            random.of(&NUMBERS),
        )
        .ok();
    }
    let end: &&str = random.of(&["]}", "]", "", "],\"x\":1}", "]}trailing"]);
    out.push_str(end);
    out
}

fn shaped(random: &mut Random, span: impl Fn(usize, usize) -> (usize, usize)) -> String {
    let count = 1 + random.below(30_000);
    let mut out = String::from("{\"traceEvents\":[");
    for place in 0..count {
        let (start, duration) = span(place, count);
        let comma = if place > 0 { "," } else { "" };
        write!(out, "{comma}{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op{place}\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":{duration}}}").ok();
    }
    out.push_str("]}");
    out
}

fn steps(random: &mut Random) -> String {
    let count = 1 + random.below(30_000);
    let mut out = String::from("{\"traceEvents\":[");
    for place in 0..count {
        let comma = if place > 0 { "," } else { "" };
        let start = 10 * place;
        write!(out, "{comma}{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#{place}\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":10}},{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op{}\",\"pid\":1,\"tid\":1,\"ts\":{start},\"dur\":5}}", place % 7).ok();
    }
    out.push_str("]}");
    out
}

fn nested(random: &mut Random) -> String {
    let depth = random.below(200_000);
    let (open, close) = *random.of(&[("[", "]"), ("{\"a\":", "}")]);
    let inside = format!("{}1{}", open.repeat(depth), close.repeat(depth));
    match random.below(3) {
        0 => format!(
            "{{\"traceEvents\":[{{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1,\"args\":{inside}}}]}}"
        ),
        1 => format!("{{\"other\":{inside},\"traceEvents\":[]}}"),
        _ => format!(
            "{{\"traceEvents\":[{{\"ph\":\"X\",\"name\":\"{}\",\"ts\":{}1,\"dur\":1,\"pid\":1,\"tid\":1}}]}}",
            "n".repeat(depth),
            "1".repeat(depth)
        ),
    }
}
