//! Escaping for HTML.

/// Replaces the characters that HTML gives a meaning.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
