//! Tables of records. On a narrow screen a row is a card, so each cell has the name of its column.

use maud::{Markup, html};

use super::Language;

/// A text in English and in French.
type Words = (&'static str, &'static str);

/// A column of a table.
pub(super) struct Column {
    name: Words,
    /// The look of its cells.
    class: Option<&'static str>,
}

/// A column of texts, which may break.
pub(super) const fn column(english: &'static str, french: &'static str) -> Column {
    Column { name: (english, french), class: None }
}

/// A column of texts that do not break, such as numbers of documents.
pub(super) const fn short(english: &'static str, french: &'static str) -> Column {
    Column { name: (english, french), class: Some("short") }
}

/// A column of long texts, which have a card's whole width.
pub(super) const fn text(english: &'static str, french: &'static str) -> Column {
    Column { name: (english, french), class: Some("text") }
}

/// A column of figures, which are below each other.
pub(super) const fn figure(english: &'static str, french: &'static str) -> Column {
    Column { name: (english, french), class: Some(FIGURE) }
}

const FIGURE: &str = "figure";

/// A table with its caption.
pub(super) struct Table<const N: usize> {
    caption: Words,
    columns: [Column; N],
}

impl<const N: usize> Table<N> {
    pub(super) const fn new(caption: Words, columns: [Column; N]) -> Self {
        Self { caption, columns }
    }

    /// The table with the cells of its rows.
    pub(super) fn show(&self, language: Language, rows: impl IntoIterator<Item = [Markup; N]>) -> Markup {
        let name = |column: &Column| language.pick(column.name.0, column.name.1);
        html! {
            table.cards {
                caption { (language.pick(self.caption.0, self.caption.1)) }
                thead { tr {
                    @for column in &self.columns {
                        th class=[column.class.filter(|class| *class == FIGURE)] scope="col" { (name(column)) }
                    }
                } }
                tbody {
                    @for cells in rows {
                        tr {
                            @for (column, cell) in self.columns.iter().zip(cells) {
                                td class=[column.class] data-name=(name(column)) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}
