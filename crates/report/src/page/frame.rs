//! The application around a page: navigation, a search field, and a script of its own.

use super::markup::escape;
use std::fmt::Write as _;

/// Navigation and script of an application that serves pages.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Views, in order.
    pub links: Vec<FrameLink>,
    /// Address of the search for genes, relative to the page; empty for none.
    pub search: String,
    /// Script that follows the scripts of pages; its drawing functions are in `kinds`.
    pub script: &'static str,
    /// Number that a content security policy demands of the script; empty for none.
    pub nonce: String,
}

/// A link to a view.
#[derive(Debug, Clone, Default)]
pub struct FrameLink {
    /// Text.
    pub name: String,
    /// Address relative to the page.
    pub address: String,
    /// Whether the page is this view.
    pub is_current: bool,
}

impl Frame {
    /// Returns the navigation, empty without links.
    pub(super) fn navigation(&self) -> String {
        if self.links.is_empty() {
            return String::new();
        }
        let mut out =
            "<a class=\"skip\" href=\"#main\">to the content</a><nav class=\"views\" aria-label=\"views\">"
                .to_owned();
        for link in &self.links {
            let current = if link.is_current { " aria-current=\"page\"" } else { "" };
            // Writing to a string cannot fail.
            write!(out, "<a href=\"{}\"{current}>{}</a>", escape(&link.address), escape(&link.name)).ok();
        }
        if !self.search.is_empty() {
            write!(
                out,
                "<form action=\"{}\" role=\"search\"><input type=\"search\" name=\"name\" id=\"find-gene\" \
                 placeholder=\"gene\" aria-label=\"find a gene\" autocomplete=\"off\" list=\"genes\">\
                 <datalist id=\"genes\"></datalist></form>",
                escape(&self.search)
            )
            .ok();
        }
        out.push_str("</nav>\n<span id=\"main\"></span>");
        out
    }

    /// Returns the attribute of the script element.
    pub(super) fn nonce_attribute(&self) -> String {
        if self.nonce.is_empty() { String::new() } else { format!(" nonce=\"{}\"", escape(&self.nonce)) }
    }
}
