//! A process to be killed.

fn main() {}
