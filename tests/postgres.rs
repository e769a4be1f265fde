//! Features of PostgreSQL alone: several nodes on one database, a pooler, query plans, and how often a change
//! waits for the server.

mod nodes;
mod pooler;
mod query_plans;
mod trips;
