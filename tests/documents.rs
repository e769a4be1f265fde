//! Documents: what they say, that they are frozen, and where they are stored.

mod frozen_documents;
mod golden;
mod large;
mod storage;
mod work_site;
