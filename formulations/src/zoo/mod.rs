//! Training graphs of well-known networks, built from shapes and a roofline cost model.
