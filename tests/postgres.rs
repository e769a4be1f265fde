//! Tests that need PostgreSQL: several nodes on one database, a pooler, query plans, and the number of times that a
//! change waits for the server.

mod nodes;
mod pooler;
mod query_plans;
mod trips;
