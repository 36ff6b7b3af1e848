//! Any text as a gene-protein-reaction rule; alternatives must mean what the rule means.
#![no_main]

use knockout_data::cell::Rule;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(Some(rule)) = Rule::parse(text) else { return };
    let Ok(alternatives) = rule.alternatives(1_000) else { return };
    // With everything the rule holds, with nothing it does not; and each alternative alone satisfies it.
    assert!(rule.holds(&|_| true) && !rule.holds(&|_| false));
    for set in &alternatives {
        assert!(rule.holds(&|name| set.iter().any(|gene| gene == name)));
    }
});
