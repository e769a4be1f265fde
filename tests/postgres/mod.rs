//! What only PostgreSQL has: several nodes on one database, and query plans.

mod nodes;
mod query_plans;
