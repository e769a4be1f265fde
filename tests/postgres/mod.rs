//! What only PostgreSQL has: several nodes on one database, query plans, and how often a change
//! waits for the server.

mod nodes;
mod query_plans;
mod trips;
