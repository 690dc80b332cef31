//! The known ways to get a schedule without an integer program.
