//! Gene-protein-reaction rules: `(YAL001C and YAL002W) or YAL003W`.
//!
//! `and` binds tighter than `or`; parentheses nest. A rule becomes alternatives: sets of genes any one of which, when
//! complete, lets the reaction run.

use knockout_base::error::{Error, Result};

/// A parsed rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// A gene must be present.
    Gene(String),
    /// All parts must hold.
    And(Vec<Rule>),
    /// Any part must hold.
    Or(Vec<Rule>),
}

const MAX_DEPTH: usize = 64;
/// Names in all alternatives of a rule.
const MAX_NAMES: usize = 1_000_000;

impl Rule {
    /// Parses a rule; a blank text is `None`: a reaction that needs no gene.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let mut parser = RuleParser { text, offset: 0 };
        if parser.peek() == Token::End {
            return Ok(None);
        }
        let rule = parser.any(0)?;
        match parser.peek() {
            Token::End => Ok(Some(rule)),
            _ => Err(parser.unexpected("\"and\", \"or\" or the end")),
        }
    }

    /// Whether the rule holds when exactly the genes accepted by `present` are there.
    pub fn holds(&self, present: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Gene(name) => present(name),
            Self::And(parts) => parts.iter().all(|part| part.holds(present)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(present)),
        }
    }

    /// The alternatives, in reading order: each a sorted set of gene names, no set twice.
    ///
    /// An alternative that contains another is kept, because the public models write rules that way and their
    /// reaction counts depend on it.
    pub fn alternatives(&self, limit: usize) -> Result<Vec<Vec<String>>> {
        let mut seen = std::collections::BTreeSet::new();
        let mut sets = Vec::new();
        for mut set in self.expand(limit)? {
            set.sort_unstable();
            set.dedup();
            if seen.insert(set.clone()) {
                sets.push(set.into_iter().map(str::to_owned).collect());
            }
        }
        Ok(sets)
    }

    /// Alternatives as they are read, with the repeats of a gene: every name is written as often as the result holds it.
    fn expand(&self, limit: usize) -> Result<Vec<Vec<&str>>> {
        let too_many = || Error::damage(format!("the rule has more than {limit} alternatives"));
        let names = |sets: &[Vec<&str>]| sets.iter().map(Vec::len).sum::<usize>();
        let mut sets = Vec::new();
        let mut held = 0_usize;
        match self {
            Self::Gene(name) => sets.push(vec![name.as_str()]),
            Self::Or(parts) => {
                for part in parts {
                    let options = part.expand(limit)?;
                    held += names(&options);
                    if sets.len() + options.len() > limit {
                        return Err(too_many());
                    }
                    sets.extend(options);
                }
            }
            Self::And(parts) => {
                sets.push(Vec::new());
                for part in parts {
                    let options = part.expand(limit)?;
                    if sets.len().saturating_mul(options.len()) > limit {
                        return Err(too_many());
                    }
                    held = held * options.len() + names(&options) * sets.len();
                    if held > MAX_NAMES {
                        break;
                    }
                    if let [only] = options.as_slice() {
                        for set in &mut sets {
                            set.extend(only);
                        }
                    } else {
                        sets = sets
                            .iter()
                            .flat_map(|set| options.iter().map(|option| [&set[..], option].concat()))
                            .collect();
                    }
                }
            }
        }
        if held > MAX_NAMES {
            return Err(Error::damage(format!("the rule's alternatives name more than {MAX_NAMES} genes")));
        }
        Ok(sets)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    And,
    Or,
    Name(&'a str),
    End,
}

struct RuleParser<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> RuleParser<'a> {
    /// The token at hand and the offset behind it; moves past white space only.
    fn scan(&mut self) -> (Token<'a>, usize) {
        let rest = &self.text[self.offset..];
        let trimmed = rest.trim_start();
        self.offset += rest.len() - trimmed.len();
        let token = match trimmed.chars().next() {
            None => return (Token::End, self.offset),
            Some('(') => return (Token::Open, self.offset + 1),
            Some(')') => return (Token::Close, self.offset + 1),
            Some(_) => {
                let is_end = |c: char| c.is_whitespace() || c == '(' || c == ')';
                &trimmed[..trimmed.find(is_end).unwrap_or(trimmed.len())]
            }
        };
        let end = self.offset + token.len();
        if token.eq_ignore_ascii_case("and") {
            (Token::And, end)
        } else if token.eq_ignore_ascii_case("or") {
            (Token::Or, end)
        } else {
            (Token::Name(token), end)
        }
    }

    fn peek(&mut self) -> Token<'a> {
        self.scan().0
    }

    fn take(&mut self, wanted: Token<'_>) -> bool {
        let (token, end) = self.scan();
        if token == wanted {
            self.offset = end;
        }
        token == wanted
    }

    fn any(&mut self, depth: usize) -> Result<Rule> {
        let mut parts = vec![self.all(depth)?];
        while self.take(Token::Or) {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Rule::Or))
    }

    fn all(&mut self, depth: usize) -> Result<Rule> {
        let mut parts = vec![self.one(depth)?];
        while self.take(Token::And) {
            parts.push(self.one(depth)?);
        }
        Ok(one_or(parts, Rule::And))
    }

    fn one(&mut self, depth: usize) -> Result<Rule> {
        if depth > MAX_DEPTH {
            return Err(Error::damage(format!("parentheses nest deeper than {MAX_DEPTH}")));
        }
        let (token, end) = self.scan();
        match token {
            Token::Name(name) => {
                self.offset = end;
                Ok(Rule::Gene(name.to_owned()))
            }
            Token::Open => {
                self.offset = end;
                let inner = self.any(depth + 1)?;
                if self.take(Token::Close) { Ok(inner) } else { Err(self.unexpected("\")\"")) }
            }
            _ => Err(self.unexpected("a gene or \"(\"")),
        }
    }

    fn unexpected(&mut self, expected: &'static str) -> Error {
        let (token, end) = self.scan();
        let found = match token {
            Token::End => "the end".to_owned(),
            _ => format!("{:?}", &self.text[self.offset..end]),
        };
        Error::damage(format!("expected {expected} at byte {}, found {found}", self.offset))
    }
}

fn one_or(mut parts: Vec<Rule>, many: impl FnOnce(Vec<Rule>) -> Rule) -> Rule {
    if parts.len() == 1 { parts.remove(0) } else { many(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alternatives(text: &str) -> Vec<String> {
        let rule = Rule::parse(text).unwrap().unwrap();
        rule.alternatives(100).unwrap().iter().map(|set| set.join("+")).collect()
    }

    #[test]
    fn parentheses_are_respected() {
        // The reference deleted the parentheses and read A+B | C.
        assert_eq!(alternatives("A and (B or C)"), ["A+B", "A+C"]);
        assert_eq!(alternatives("A and B or C"), ["A+B", "C"]);
        assert_eq!(alternatives("((A or B) AND (C OR D)) or (A)"), ["A+C", "A+D", "B+C", "B+D", "A"]);
    }

    #[test]
    fn repeats_are_merged() {
        assert_eq!(alternatives("A and A or A"), ["A"]);
        assert_eq!(alternatives("(A and B) or (B and A)"), ["A+B"]);
    }

    #[test]
    fn a_long_rule_takes_time_by_its_length() {
        // Quadratic, these would take minutes.
        let list = |count: usize, word: &str| {
            (0..count).map(|gene| format!("G{gene}")).collect::<Vec<_>>().join(word)
        };
        let long = Rule::parse(&list(200_000, " and ")).unwrap().unwrap();
        assert_eq!(long.alternatives(10).unwrap()[0].len(), 200_000);
        let wide = format!("({}) and {}", list(1_000, " or "), list(1_001, " and "));
        let wide = Rule::parse(&wide).unwrap().unwrap();
        let error = wide.alternatives(10_000).unwrap_err();
        assert_eq!(error.to_string(), "the rule's alternatives name more than 1000000 genes");
    }

    #[test]
    fn a_blank_rule_needs_no_gene() {
        assert_eq!(Rule::parse("  ").unwrap(), None);
    }

    #[test]
    fn errors_say_where() {
        let message = |text| Rule::parse(text).unwrap_err().to_string();
        assert_eq!(message("A and"), "expected a gene or \"(\" at byte 5, found the end");
        assert_eq!(message("A B"), "expected \"and\", \"or\" or the end at byte 2, found \"B\"");
        assert_eq!(message("(A or B"), "expected \")\" at byte 7, found the end");
        assert_eq!(message("or A"), "expected a gene or \"(\" at byte 0, found \"or\"");
        assert_eq!(message("A)"), "expected \"and\", \"or\" or the end at byte 1, found \")\"");
        assert_eq!(message(&"(".repeat(100)), "parentheses nest deeper than 64");
    }

    #[test]
    fn a_rule_that_explodes_is_refused() {
        let text = vec!["(A or B)"; 20].join(" and ");
        let rule = Rule::parse(&text).unwrap().unwrap();
        let error = rule.alternatives(1000).unwrap_err();
        assert_eq!(error.to_string(), "the rule has more than 1000 alternatives");
    }
}
