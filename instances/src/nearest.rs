//! The name that a misspelt one is near.

/// The candidate nearest to `text` in edit distance, where at most a third of its letters (and at
/// least one) differ; the first of several.
///
/// ```
/// use remat_instances::nearest::nearest;
/// assert_eq!(nearest("timelimit", ["time_limit", "gap"]).as_deref(), Some("time_limit"));
/// ```
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let text = text.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&text, candidate), candidate))
        .filter(|(far, candidate)| *far <= (candidate.len().max(text.len()) / 3).max(1))
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate.to_string())
}

/// Insertions, deletions, substitutions and swaps of neighbours, no letter touched twice (optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let substituted = row[j] + usize::from(a[i] != b[j]);
            next[j + 1] = substituted.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("bacth", "batch"), 1);
        assert_eq!(distance("ca", "abc"), 3);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["resnet50", "vgg16", "unet"];
        assert_eq!(nearest("resnet5", names), Some("resnet50".into()));
        assert_eq!(nearest("VGG-16", names), Some("vgg16".into()));
        assert_eq!(nearest("transformer", names), None);
    }
}
