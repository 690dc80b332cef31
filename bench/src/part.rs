//! Generated parts of pages.

use remat_bb::failure::Failure;

/// Line in front of the generated part.
pub const BEGIN: &str = "<!-- made by remat-bench: begin -->";
/// Line behind it.
pub const END: &str = "<!-- made by remat-bench: end -->";

/// A page with its generated part replaced; errors call the page `file`.
///
/// # Errors
/// [`Failure::Usage`] for a page without the two lines.
pub fn replaced(file: &str, page: &str, tables: &str) -> Result<String, Failure> {
    let parts = page.split_once(BEGIN);
    let parts = parts.and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let Some((head, tail)) = parts else {
        return Err(Failure::Usage {
            problem: format!("{file}: there is no place for the tables"),
            remedy: format!("it has the lines {BEGIN} and {END}, which they go between"),
        });
    };
    Ok(format!("{head}{BEGIN}\n{tables}{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_part_is_replaced_and_the_rest_stays() {
        let page = format!("# A\n\n{BEGIN}\nold\n{END}\n\nend\n");
        let new = replaced("a.md", &page, "new\n").expect("a page");
        assert_eq!(new, format!("# A\n\n{BEGIN}\nnew\n{END}\n\nend\n"));
        assert_eq!(replaced("a.md", &new, "new\n").expect("a page"), new);
        let error = replaced("a.md", "# A\n", "new\n").expect_err("no place");
        assert_eq!(error.to_string(), "a.md: there is no place for the tables");
    }
}
