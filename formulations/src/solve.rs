//! Solving an instance for a budget: settings, outcome, and the main entry point.
