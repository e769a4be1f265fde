//! Documents: their content, their freezing, and their storage.

mod frozen_documents;
mod golden;
mod large;
mod storage;
mod work_site;
