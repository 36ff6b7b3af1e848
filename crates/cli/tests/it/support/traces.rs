//! Traces that several test files use.

/// One step of 100 µs with an operation of 20.5 µs and a kernel of 30 µs, of rank 3.
pub(crate) const SMALL: &str = r#"{"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1000, "dur": 100},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 1010, "dur": 20.5},
  {"ph": "X", "cat": "kernel", "name": "volta_sgemm", "pid": 0, "tid": 7, "ts": 1040, "dur": 30}]}"#;

/// Returns the text without its last 20 bytes, as a crash leaves it.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.len() - 20]
}

/// Returns a complete event of process 1.
pub(crate) fn event(category: &str, name: &str, thread: u32, start_us: u32, duration_us: u32) -> String {
    format!(
        r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":{thread},"ts":{start_us},"dur":{duration_us}}}"#
    )
}

/// Returns a trace of these events, of a rank if one is given as (rank, world size).
pub(crate) fn trace(rank: Option<(u32, u32)>, events: &[String]) -> String {
    let info = rank.map_or_else(String::new, |(rank, world)| {
        format!(r#""distributedInfo": {{"rank": {rank}, "world_size": {world}}}, "#)
    });
    format!(r#"{{{info}"traceEvents": [{}]}}"#, events.join(",\n"))
}

/// Returns a trace of so many steps of this length, give or take one microsecond, half of each in one operation.
pub(crate) fn steps(rank: (u32, u32), count: u32, step_us: u32) -> String {
    let events: Vec<String> = (0..count)
        .flat_map(|step| {
            let (start, length) = (step * 10_000, step_us + step % 3);
            [
                event("user_annotation", &format!("ProfilerStep#{step}"), 1, start, length),
                event("cpu_op", "aten::mul", 1, start, length / 2),
            ]
        })
        .collect();
    trace(Some(rank), &events)
}

/// Returns a trace of three consecutive steps of 100 µs, of which 80 µs are one operation.
pub(crate) fn three_steps(rank: Option<(u32, u32)>, start_us: u32) -> String {
    let events: Vec<String> = (0..3)
        .flat_map(|step| {
            let start = start_us + 100 * step;
            [
                event("user_annotation", &format!("ProfilerStep#{step}"), 1, start, 100),
                event("cpu_op", "aten::mm", 1, start + 10, 80),
            ]
        })
        .collect();
    trace(rank, &events)
}
