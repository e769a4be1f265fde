//! The pages of credit notes: the list, and one credit note with its document.

mod list;
mod page;

pub(super) use self::list::list;
pub(super) use self::page::show;
