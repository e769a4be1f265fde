//! The views for reports: their columns are those of the book, and their rows say what the API and the operations
//! say.

mod documented;
mod expected;
mod rows;

use documented::View;
use expected::Expected;
