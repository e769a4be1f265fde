//! The commands and statements of the book's operating pages.

use std::process::Command;

use invoicing_core::Plan;
use invoicing_test_databases::tool::SQLITE3;
use invoicing_tests::{Database, World, on_each_database, on_postgres, postgres};

use crate::support::issued_over;

const OPERATE: &str = include_str!("../../docs/operate.md");
const POSTGRESQL: &str = include_str!("../../docs/operate-postgresql.md");

/// The only block of a language, without its indentation.
fn block(page: &'static str, language: &str) -> impl Iterator<Item = &'static str> {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    let (block, rest) = rest.split_once("```").unwrap();
    assert!(!rest.contains(&format!("```{language}\n")), "a second block");
    block.lines().map(str::trim).filter(|line| !line.is_empty())
}

#[on_each_database]
async fn the_export_of_a_company_has_its_records_alone(db: Database) {
    if db == Database::Sqlite
        && let Err(error) = Command::new("sqlite3").arg("--version").output()
    {
        SQLITE3.is_missing(&error.to_string());
        return;
    }
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await.summary;
    world.company.invoices().cancel(invoice.id).await.unwrap();
    let (other, _) = world.another("Autre", Plan::Team).await;
    issued_over(&other, "200").await;
    let folder = tempfile::tempdir().unwrap();
    let (program, exported) = match db {
        Database::Sqlite => ("sqlite3 ", &["invoices.csv"][..]),
        Database::Postgres => ("psql ", &["invoices.csv", "notes.csv"][..]),
    };
    let commands: Vec<_> = block(OPERATE, "sh").filter(|line| line.starts_with(program)).collect();
    assert_eq!(commands.len(), exported.len());
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replace('…', &world.company.id().to_string())]).current_dir(&folder);
        match db {
            Database::Sqlite => {
                std::os::unix::fs::symlink(world.place().file(), folder.path().join("invoicing.db")).unwrap();
            }
            Database::Postgres => {
                let program = postgres::program("psql").unwrap();
                let (found, path) = (program.parent().unwrap(), std::env::var("PATH").unwrap_or_default());
                shell.env("PATH", format!("{}:{path}", found.display()));
                shell.env("DATABASE_URL", world.place().url());
            }
        }
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for file in exported {
        let table = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let company = world.company.id().to_string();
        assert_eq!((table.lines().count(), table.matches(&company).count()), (2, 1), "{table}");
    }
}

#[on_postgres]
async fn a_role_takes_the_settings_that_the_book_has_for_a_pooler(db: Database) {
    let world = World::new(db).await;
    // A role is of the whole cluster.
    let role = format!("pooled_{}", world.company.id()).replace('-', "_");
    world.run(&format!("CREATE ROLE {role}"), &[]).await;
    let mut expected = Vec::new();
    for statement in block(POSTGRESQL, "sql") {
        world.run(&statement.replace("ROLE invoicing ", &format!("ROLE {role} ")), &[]).await;
        let (_, setting) = statement.split_once(" SET ").unwrap();
        expected.push(setting.replace(" = ", "=").replace(['\'', ';'], ""));
    }
    let statement = "SELECT array_to_string(rolconfig, ',') FROM pg_roles WHERE rolname = $1";
    let taken: String = world.behind().await.one(statement, &[(&*role).into()]).await;
    world.run(&format!("DROP ROLE {role}"), &[]).await;
    assert_eq!(taken, expected.join(","));
}
