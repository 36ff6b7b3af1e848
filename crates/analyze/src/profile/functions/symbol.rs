//! Names of functions, shortened: `a::b::C<d::E>::f` becomes `C<E>::f`.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the name of a function for people: its last two segments, and its binary where it is a library or the kernel.
pub(super) fn label(symbol: &str, binary: &str) -> String {
    let name = match symbol {
        "[unknown]" => "unknown".to_owned(),
        _ => shorten(&mut symbol.chars().peekable(), Place::Function),
    };
    let file = binary.rsplit('/').next().unwrap_or(binary);
    match file {
        "[unknown]" => name,
        _ if file.starts_with("[kernel") || file.starts_with("[guest.kernel") => format!("{name} (kernel)"),
        _ if file.starts_with('[') || file.contains(".so") => format!("{name} ({file})"),
        _ => name,
    }
}

/// Where a path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It names the function: two segments are kept.
    Function,
    /// Inside angle brackets it names a type: one is kept.
    Type,
}

/// Shortens every path up to the closing bracket of a type, or the end.
fn shorten(text: &mut Peekable<Chars<'_>>, place: Place) -> String {
    let (mut out, mut path) = (String::new(), vec![String::new()]);
    while let Some(char) = text.next() {
        let next = text.peek().copied();
        match char {
            '>' if place == Place::Type => break,
            '<' => {
                let inner = format!("<{}>", shorten(text, Place::Type));
                push(&mut path, &inner);
            }
            ':' if next == Some(':') => {
                text.next();
                path.push(String::new());
            }
            '-' if next == Some('>') => {
                text.next();
                end(&mut path, place, &mut out);
                out.push_str("->");
            }
            ' ' | ',' | ';' | '=' | '+' | '&' | '*' | '(' | ')' | '[' | ']' => {
                end(&mut path, place, &mut out);
                out.push(char);
            }
            char => push(&mut path, char.encode_utf8(&mut [0; 4])),
        }
    }
    end(&mut path, place, &mut out);
    out
}

/// Appends to the last segment.
fn push(path: &mut [String], text: &str) {
    if let Some(last) = path.last_mut() {
        last.push_str(text);
    }
}

/// Writes the last segments of a path and begins another one.
fn end(path: &mut Vec<String>, place: Place, out: &mut String) {
    let mut wanted = if place == Place::Function { 2 } else { 1 };
    let mut first = path.len();
    while first > 0 && wanted > 0 {
        first -= 1;
        // A closure is named after what it is in.
        let is_closure = path.get(first).is_some_and(|segment| segment.starts_with('{'));
        wanted -= usize::from(!is_closure);
    }
    out.push_str(&path.get(first..).unwrap_or_default().join("::"));
    *path = vec![String::new()];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shortened_to_what_tells_functions_apart() {
        for (symbol, short) in [
            ("knockout_engine::kernel::simd::gemm::gemm_tn_panels::avx512", "gemm_tn_panels::avx512"),
            ("rayon::iter::plumbing::bridge_producer_consumer::helper", "bridge_producer_consumer::helper"),
            ("core::ptr::drop_in_place<a::b::Buffer<f32>>", "ptr::drop_in_place<Buffer<f32>>"),
            (
                "core::ops::function::impls::<impl core::ops::FnMut<A> for &F>::call_mut",
                "<impl FnMut<A> for &F>::call_mut",
            ),
            ("a::buffer::Pool<T>::take::{{closure}}", "Pool<T>::take::{{closure}}"),
            ("a::take::{{closure}}::{{closure}}", "a::take::{{closure}}::{{closure}}"),
            ("<core::iter::Map<I,F> as core::iter::Iterator>::next", "<Map<I,F> as Iterator>::next"),
            ("a::call<fn(b::C) -> d::E, [f::G; 3]>", "a::call<fn(C) -> E, [G; 3]>"),
            ("malloc", "malloc"),
            ("operator>", "operator>"),
            ("cut::off<a::b", "cut::off<b>"),
            ("", ""),
        ] {
            assert_eq!(label(symbol, "/usr/bin/knockout"), short);
        }
    }

    #[test]
    fn functions_of_libraries_and_of_the_kernel_are_marked() {
        for (binary, name) in [
            ("/lib/libc.so.6", "f (libc.so.6)"),
            ("[kernel.kallsyms]", "f (kernel)"),
            ("[vdso]", "f ([vdso])"),
            ("/target/release/knockout", "f"),
            ("[unknown]", "f"),
        ] {
            assert_eq!(label("f", binary), name);
        }
    }
}
