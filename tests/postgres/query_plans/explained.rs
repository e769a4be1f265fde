//! Entries of `auto_explain` in a server's log.

/// A statement and the plan by which it was run.
pub(super) struct Explained {
    pub(super) query: String,
    pub(super) plan: String,
}

/// Every plan of a log.
pub(super) fn explained(log: &str) -> Vec<Explained> {
    let mut found = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.ends_with("plan:") {
            continue;
        }
        // Further lines of an entry are indented by a tab.
        let mut entry = String::new();
        while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
            entry.push_str(more);
            entry.push('\n');
        }
        let Some((query, plan)) = split(&entry) else { continue };
        // Statements have several lines; the search needs one.
        let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
        found.push(Explained { query, plan: plan.to_owned() });
    }
    found
}

/// The plan begins with the first line that has its costs.
fn split(entry: &str) -> Option<(&str, &str)> {
    let entry = entry.trim_start().strip_prefix("Query Text: ")?;
    let costs = entry.find("(cost=")?;
    Some(entry.split_at(entry[..costs].rfind('\n')?))
}

impl Explained {
    /// True if the statement reads a table from one end to the other.
    pub(super) fn scans(&self, table: &str) -> bool {
        self.plan.lines().any(|line| {
            let read = line.split_once("Seq Scan on ");
            read.is_some_and(|(_, read)| read.split(' ').next() == Some(table))
        })
    }

    /// The rows that the largest step returned or threw away.
    pub(super) fn max_rows(&self) -> u64 {
        let (mut max, mut loops) = (0, 1);
        for line in self.plan.lines() {
            if let Some((_, actual)) = line.split_once("(actual rows=") {
                loops = number_behind(actual, "loops=").unwrap_or(1);
                max = max.max(number_behind(actual, "").unwrap_or(0) * loops);
            }
            if let Some(removed) = number_behind(line, "Rows Removed by Filter: ") {
                max = max.max(removed * loops);
            }
        }
        max
    }
}

fn number_behind(text: &str, name: &str) -> Option<u64> {
    let (_, number) = text.split_once(name)?;
    number.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}
