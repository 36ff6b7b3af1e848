//! Choices that lead to another view of an application.

use super::markup::escape;
use std::fmt::Write as _;

/// A form whose fields become the query of an address.
#[derive(Debug, Clone, Default)]
pub struct Form {
    /// Address without a query, relative to the page.
    pub action: String,
    /// Names and values that stay as they are.
    pub hidden: Vec<(String, String)>,
    /// Fields, in order.
    pub fields: Vec<Field>,
    /// Text of the button.
    pub submit: String,
}

/// A field of a form.
#[derive(Debug, Clone)]
pub enum Field {
    /// A line of text.
    Text {
        /// Name in the query.
        name: String,
        /// Text before the field.
        label: String,
        /// Present value.
        value: String,
        /// Id of a list of suggestions in the page; empty for none.
        suggestions: String,
    },
    /// One of several values.
    Choice {
        /// Name in the query.
        name: String,
        /// Text before the field.
        label: String,
        /// Values and their texts.
        choices: Vec<(String, String)>,
        /// Present value.
        chosen: String,
    },
    /// A value that is in the query or not.
    Switch {
        /// Name in the query.
        name: String,
        /// Text behind the field.
        label: String,
        /// Value when on.
        value: String,
        /// Whether it is on.
        is_on: bool,
    },
}

impl Form {
    pub(super) fn draw(&self, out: &mut String) {
        // Writing to a string cannot fail.
        write!(out, "<form class=\"tools\" action=\"{}\">", escape(&self.action)).ok();
        for (name, value) in &self.hidden {
            write!(out, "<input type=\"hidden\" name=\"{}\" value=\"{}\">", escape(name), escape(value)).ok();
        }
        for field in &self.fields {
            field.draw(out);
        }
        writeln!(out, "<button>{}</button></form>", escape(&self.submit)).ok();
    }
}

impl Field {
    fn draw(&self, out: &mut String) {
        match self {
            Self::Text { name, label, value, suggestions } => {
                let list = if suggestions.is_empty() {
                    String::new()
                } else {
                    format!(" list=\"{}\" autocomplete=\"off\"", escape(suggestions))
                };
                let (name, label, value) = (escape(name), escape(label), escape(value));
                write!(out, "<label>{label} <input name=\"{name}\" value=\"{value}\"{list}></label>").ok();
            }
            Self::Choice { name, label, choices, chosen } => {
                write!(out, "<label>{} <select name=\"{}\">", escape(label), escape(name)).ok();
                for (value, text) in choices {
                    let selected = if value == chosen { " selected" } else { "" };
                    write!(out, "<option value=\"{}\"{selected}>{}</option>", escape(value), escape(text))
                        .ok();
                }
                out.push_str("</select></label>");
            }
            Self::Switch { name, label, value, is_on } => {
                let checked = if *is_on { " checked" } else { "" };
                write!(
                    out,
                    "<label><input type=\"checkbox\" name=\"{}\" value=\"{}\"{checked}> {}</label>",
                    escape(name),
                    escape(value),
                    escape(label)
                )
                .ok();
            }
        }
    }
}
