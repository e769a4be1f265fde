//! Random operations against a reference model.
