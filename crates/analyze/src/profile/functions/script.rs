//! Samples as `perf script --ns -F tid,time,event,ip,sym,dso` prints them, one per line, of one event or of several.

use super::symbol;
use knockout_base::error::{Error, Result};
use std::collections::HashMap;
use std::io::{self, BufRead};

/// A sample of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSample {
    /// The operating system's number of the thread.
    pub os_thread: u32,
    /// Time by the clock that `perf` was told to use.
    pub at_nanos: u64,
    /// Index in [`CpuSamples::functions`].
    pub function: u32,
}

/// Samples of one event in a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuSamples {
    /// Event that was sampled, such as `cycles` or `cpu-clock`.
    pub event: String,
    /// Shortened names of functions, each once.
    pub functions: Vec<String>,
    /// The samples, in the order of the input.
    pub samples: Vec<CpuSample>,
}

impl CpuSamples {
    /// Reads the output of `perf script`; returns the samples of each event, in the order in which events appear.
    pub fn read(mut input: impl BufRead) -> Result<Vec<Self>> {
        // Beside the samples of an event: the numbers of its functions.
        let mut events: Vec<(Self, HashMap<String, u32>)> = Vec::new();
        let (mut bytes, mut line) = (Vec::new(), 0);
        loop {
            bytes.clear();
            line += 1;
            let length = input.read_until(b'\n', &mut bytes).map_err(not_read)?;
            if length == 0 {
                return Ok(events.into_iter().map(|(samples, _)| samples).collect());
            }
            // Names of functions and files may be in any encoding.
            let text = String::from_utf8_lossy(&bytes);
            if text.trim().is_empty() {
                continue;
            }
            let Some(found) = Line::parse(&text) else {
                let message =
                    format!("perf script printed something other than a sample: {:?}", text.trim_end());
                return Err(Error::damage(message).on_line(line));
            };
            let known = events.iter().position(|(samples, _)| samples.event == found.event);
            let index = known.unwrap_or(events.len());
            if known.is_none() {
                events.push((Self { event: found.event.to_owned(), ..Self::default() }, HashMap::new()));
            }
            let (samples, numbers) = &mut events[index];
            let function = match numbers.get(found.function) {
                Some(&number) => number,
                None => samples.number_of(numbers, &found),
            };
            samples.samples.push(CpuSample {
                os_thread: found.os_thread,
                at_nanos: found.at_nanos,
                function,
            });
        }
    }

    /// Numbers a text of `perf` that is new; several may shorten to one name.
    fn number_of(&mut self, numbers: &mut HashMap<String, u32>, found: &Line<'_>) -> u32 {
        let name = symbol::label(found.symbol, found.binary);
        let known = self.functions.iter().position(|known| *known == name);
        let number = known.unwrap_or_else(|| {
            self.functions.push(name);
            self.functions.len() - 1
        });
        numbers.insert(found.function.to_owned(), number as u32);
        number as u32
    }
}

fn not_read(cause: io::Error) -> Error {
    Error::failure("could not read the output of perf script").caused_by(cause)
}

/// The fields of a line: ` 5452 12634.465224583: cpu-clock:ppp:  7f38d5baf1e3 a::b::c (/usr/bin/program)`.
struct Line<'t> {
    os_thread: u32,
    at_nanos: u64,
    /// Without its modifiers.
    event: &'t str,
    /// Symbol and binary together.
    function: &'t str,
    symbol: &'t str,
    binary: &'t str,
}

impl<'t> Line<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let (thread, rest) = field(text)?;
        let (time, rest) = field(rest)?;
        let (event, rest) = field(rest)?;
        let (address, function) = field(rest)?;
        u64::from_str_radix(address, 16).ok()?;
        let (seconds, fraction) = time.strip_suffix(':')?.split_once('.')?;
        if fraction.len() != NANOS_DIGITS {
            return None;
        }
        let nanos = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
        let function = function.trim();
        let whole = function.strip_suffix(')')?;
        let whole = whole.strip_suffix(" (deleted)").unwrap_or(whole);
        let (symbol, binary) = whole.rsplit_once(" (")?;
        Some(Self {
            os_thread: thread.parse().ok()?,
            at_nanos: nanos.checked_add(fraction.parse().ok()?)?,
            event: event.strip_suffix(':')?.split(':').next()?,
            function,
            symbol: symbol.trim_end(),
            binary,
        })
    }
}

/// Digits after the point of a time with `--ns`.
const NANOS_DIGITS: usize = 9;

/// Splits off the first word.
fn field(text: &str) -> Option<(&str, &str)> {
    text.trim_start().split_once(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
 5452 12634.465224583: cpu-clock:ppp:      7f38d5baf1e3 knockout_engine::kernel::simd::gemm::gemm_panels::avx512 (/opt/knockout (deleted))
 5453 12634.466225446: cpu-clock:ppp:      7f38d5baee50 __memset_avx2 (/usr/lib/x86_64-linux-gnu/libc.so.6)

    7     0.000000001: cpu-clock:ppp:  ffffffff81e00c9d exc_page_fault ([kernel.kallsyms])
 5452 12634.467228443: cpu-clock:ppp:      7f38d5c4a51b <a::B<c::D> as e::F>::g (/opt/knockout)
 5452 12634.468228443: cpu-clock:ppp:      7f38d5c4a51b other::gemm_panels::avx512 (/opt/knockout)
 5452 12634.469228443: cpu-clock:ppp:             12345 [unknown] (/opt/knockout)
";

    #[test]
    fn samples_are_read_to_the_nanosecond_and_names_are_shortened() {
        let [read] = &CpuSamples::read(PRINTED.as_bytes()).unwrap()[..] else { panic!("one event") };
        assert_eq!(read.event, "cpu-clock");
        let names = [
            "gemm_panels::avx512",
            "__memset_avx2 (libc.so.6)",
            "exc_page_fault (kernel)",
            "<B<D> as F>::g",
            "unknown",
        ];
        assert_eq!(read.functions, names);
        let samples: Vec<(u32, u64, u32)> =
            read.samples.iter().map(|sample| (sample.os_thread, sample.at_nanos, sample.function)).collect();
        assert_eq!(
            samples,
            [
                (5452, 12_634_465_224_583, 0),
                (5453, 12_634_466_225_446, 1),
                (7, 1, 2),
                (5452, 12_634_467_228_443, 3),
                (5452, 12_634_468_228_443, 0),
                (5452, 12_634_469_228_443, 4)
            ]
        );
    }

    #[test]
    fn other_events_lose_their_modifiers() {
        for (event, name) in
            [("cycles:P:", "cycles"), ("cycles:", "cycles"), ("cpu_core/cycles/P:", "cpu_core/cycles/P")]
        {
            let line = format!("1 2.000000003: {event} 4f f (/p)\n");
            assert_eq!(CpuSamples::read(line.as_bytes()).unwrap()[0].event, name);
        }
    }

    #[test]
    fn samples_of_several_events_are_told_apart() {
        let printed = "\
1 2.000000003: cycles:P: 4f f (/p)
2 2.000000004: memory-read: 5f g (/p)
1 2.000000005: memory-read: 4f f (/p)
1 2.000000006: cycles:P: 5f g (/p)
";
        let read = CpuSamples::read(printed.as_bytes()).unwrap();
        let found: Vec<(&str, Vec<(u32, &str)>)> = read
            .iter()
            .map(|event| {
                let samples = event.samples.iter();
                let name = |sample: &CpuSample| event.functions[sample.function as usize].as_str();
                (event.event.as_str(), samples.map(|sample| (sample.os_thread, name(sample))).collect())
            })
            .collect();
        assert_eq!(found, [("cycles", vec![(1, "f"), (1, "g")]), ("memory-read", vec![(2, "g"), (1, "f")])]);
    }

    #[test]
    fn a_line_of_another_form_is_refused_with_its_number() {
        let sample = "1 2.000000003: cycles: 4f f (/p)\n";
        for bad in [
            "1 2.000003: cycles: 4f f (/p)",
            "1 2.000000003: cycles: f (/p)",
            "1 2.000000003: cycles: 4f f",
            "a 2.000000003: cycles: 4f f (/p)",
            "1 99999999999999999999.000000003: cycles: 4f f (/p)",
            "# comment",
        ] {
            let error = CpuSamples::read(format!("{sample}{bad}\n").as_bytes()).unwrap_err();
            assert_eq!(error.line(), Some(2), "{bad}");
        }
        assert_eq!(CpuSamples::read(&b""[..]).unwrap(), []);
    }
}
