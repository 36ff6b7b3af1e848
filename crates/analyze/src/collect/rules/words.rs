//! Splits names into words, so that `gin` does not match `engine`.

/// Returns the words of a name in lower case: cut at everything except letters and digits, and where a capital begins a
/// new word (`MSELossBackward0` is `mse loss backward 0`).
pub(crate) fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut out = Vec::new();
    let mut word = String::new();
    for (index, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            close(&mut word, &mut out);
            continue;
        }
        let before = index.checked_sub(1).and_then(|i| chars.get(i)).copied().unwrap_or(' ');
        let after = chars.get(index + 1).copied().unwrap_or(' ');
        let hump =
            c.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && after.is_lowercase()));
        let number = c.is_numeric() != before.is_numeric() && before.is_alphanumeric();
        // A digit closes a word only at its end (`Backward0`), not inside (`all2all`, `c10d`).
        let trailing = number && c.is_numeric() && !rest_has_letter(&chars, index);
        if hump || trailing {
            close(&mut word, &mut out);
        }
        word.extend(c.to_lowercase());
    }
    close(&mut word, &mut out);
    out
}

fn rest_has_letter(chars: &[char], from: usize) -> bool {
    chars.iter().skip(from).take_while(|c| c.is_alphanumeric()).any(|c| c.is_alphabetic())
}

fn close(word: &mut String, out: &mut Vec<String>) {
    if !word.is_empty() {
        out.push(std::mem::take(word));
    }
}

/// Whether `phrase` occurs in `name` as whole words in a row.
pub(crate) fn contains(name: &[String], phrase: &[String]) -> bool {
    !phrase.is_empty() && name.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(name: &str, phrase: &str) -> bool {
        contains(&words(name), &words(phrase))
    }

    #[test]
    fn names_are_cut_at_signs_humps_and_trailing_digits() {
        assert_eq!(words("MSELossBackward0"), ["mse", "loss", "backward", "0"]);
        assert_eq!(words("aten::_foreach_add_"), ["aten", "foreach", "add"]);
        assert_eq!(words("ProfilerStep#601"), ["profiler", "step", "601"]);
        assert_eq!(words("## all2all_tw ##"), ["all2all", "tw"]);
        assert_eq!(words("c10d::allreduce_"), ["c10d", "allreduce"]);
        assert_eq!(words(""), Vec::<String>::new());
    }

    #[test]
    fn the_reference_traps_do_not_match() {
        assert!(!has("autograd::engine::evaluate_function", "gin"));
        assert!(!has("aten::cosine_distance", "dist"));
        assert!(!has("aggregate", "gat"));
        assert!(!has("ProfilerStep#3", "optimizer"));
        assert!(!has("aten::masked_fill", "mask"));
        assert!(has("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "DataLoader"));
        assert!(has("autograd::engine::evaluate_function: MmBackward0", "backward"));
    }
}
