//! Tests of programs without data.
