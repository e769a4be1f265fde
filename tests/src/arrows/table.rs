//! The table of allowed arrows, as a document shows it.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Arrow;

const BEGIN: &str = "\n```arrows\n";

/// Which modules each module may name, from the top layer to the bottom.
pub(super) struct Table<'a> {
    rows: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Table<'a> {
    /// Reads the block of lines `module -> module, module` that is marked `arrows`.
    pub(super) fn of_document(document: &'a str) -> Self {
        let (_, block) = document.split_once(BEGIN).expect("a block of arrows");
        let (block, _) = block.split_once("\n```").expect("an end of the block");
        Self { rows: block.lines().map(row).collect() }
    }

    /// Every way in which the table is not one of layers, or the arrows are not the table's.
    pub(super) fn faults(&self, modules: &BTreeSet<&str>, arrows: &BTreeSet<Arrow>) -> Vec<String> {
        let mut faults = self.faults_of_layers();
        faults.extend(self.faults_of_names(modules));
        let mut unused: BTreeSet<_> = self.allowed().collect();
        for arrow in arrows {
            let (from, to) = (self.of(&arrow.from), self.of(&arrow.to));
            if from != to && !self.allowed().any(|allowed| allowed == (from, to)) {
                faults.push(format!("{from} -> {to} is not allowed: {}", arrow.place));
            }
            unused.remove(&(from, to));
        }
        faults.extend(unused.iter().map(|(from, to)| format!("{from} -> {to} is allowed, and not needed")));
        faults
    }

    fn allowed(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.rows.iter().flat_map(|(from, to)| to.iter().map(|to| (*from, *to)))
    }

    /// The row of a module: its own, or that of the closest module above it.
    fn of<'m>(&self, module: &'m str) -> &'m str {
        let mut name = module.strip_prefix("crate::").unwrap_or(module);
        while !self.rows.iter().any(|(row, _)| *row == name) {
            let Some((above, _)) = name.rsplit_once("::") else { break };
            name = above;
        }
        name
    }

    fn faults_of_layers(&self) -> Vec<String> {
        let places: BTreeMap<_, _> = self.rows.iter().enumerate().map(|(at, (row, _))| (*row, at)).collect();
        let leads_up = |(from, to): &(&str, &str)| places.get(to).is_none_or(|to| *to <= places[from]);
        let up = self.allowed().filter(leads_up);
        up.map(|(from, to)| format!("{from} -> {to} does not lead to a row further down")).collect()
    }

    fn faults_of_names(&self, modules: &BTreeSet<&str>) -> Vec<String> {
        let rows: BTreeSet<_> = self.rows.iter().map(|(row, _)| *row).collect();
        let exists = |row: &&&str| !modules.contains(format!("crate::{row}").as_str());
        let gone = rows.iter().filter(exists).map(|row| format!("{row} is a row, and no module"));
        let top = modules.iter().filter_map(|module| module.strip_prefix("crate::"));
        let new = top.filter(|module| !module.contains("::") && !rows.contains(module));
        gone.chain(new.map(|module| format!("{module} is a module, and has no row"))).collect()
    }
}

fn row(line: &str) -> (&str, Vec<&str>) {
    let (from, to) = line.split_once("->").unwrap_or((line, ""));
    (from.trim(), to.split(',').map(str::trim).filter(|to| !to.is_empty()).collect())
}
