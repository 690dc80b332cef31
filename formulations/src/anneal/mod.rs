//! A primal heuristic: simulated annealing over the retained sets, with incremental evaluation of stages.
