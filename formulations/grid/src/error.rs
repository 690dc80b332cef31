//! Errors of grids: the file, the key, the problem and a remedy.

/// Reason why a grid or a folder of results cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {key}{problem}", key = .key.as_ref().map_or(String::new(), |key| format!("{key}: ")))]
pub struct GridError {
    /// The file or folder, or a word for a grid that is in no file.
    pub file: String,
    /// The key of the grid file, if one is wrong.
    pub key: Option<String>,
    /// The problem, in words.
    pub problem: String,
    /// A valid form, or another remedy.
    pub remedy: String,
}

impl GridError {
    /// The error of a key of a grid file.
    pub(crate) fn key(
        file: &str,
        key: impl Into<String>,
        problem: impl ToString,
        remedy: impl Into<String>,
    ) -> Self {
        GridError {
            file: file.into(),
            key: Some(key.into()),
            problem: problem.to_string(),
            remedy: remedy.into(),
        }
    }

    /// The error of a whole file or folder.
    pub(crate) fn whole(
        file: impl Into<String>,
        problem: impl ToString,
        remedy: impl Into<String>,
    ) -> Self {
        GridError {
            file: file.into(),
            key: None,
            problem: problem.to_string(),
            remedy: remedy.into(),
        }
    }
}
