//! Any text as an override of a configuration.
#![no_main]

use knockout_sources::synth::SynthConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let defaults = SynthConfig::preset("tiny").expect("a preset");
    if let Ok(config) = knockout_base::config::resolve(&defaults, &[text]) {
        // What was accepted is a configuration like any other.
        let nothing: [&str; 0] = [];
        assert_eq!(knockout_base::config::resolve(&config, &nothing).expect("resolves again"), config);
    }
});
