//! Holds the Markdown of the repository, the book in `docs` before all.
//!
//! - Each link leads to a file or a folder of the repository, each anchor to a heading, each picture to a file. The
//!   address of the repository is read as its root.
//! - Text that is published apart, the book and the READMEs of the crates, leaves its folder by that address only.
//! - `docs/SUMMARY.md` lists each page of the book, once.
//! - Each path in backquotes is there.
//! - Each block of code names its language, and a test compiles, runs or compares it: see [`blocks`].

mod blocks;
mod links;
mod page;

mod tests;
