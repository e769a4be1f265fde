//! Projects: every pair of statuses, and `project.completed` each time.

use futures_util::future::join_all;
use invoicing_core::{ClientId, Plan, ProjectId, ProjectStatus, QuoteId};
use invoicing_server::{CompanyHandle, NewProject};
use invoicing_tests::{Database, World, on_each_database};
use uuid::Uuid;

use crate::support::{DAY, body, conflict, events, invalid, keys, kinds_after, not_found, nothing_happens};

async fn project_in(company: &CompanyHandle, status: ProjectStatus) -> ProjectId {
    let new = NewProject { name: "Façade".into(), client_id: None, quote_ids: Vec::new() };
    let id = company.projects().create(&new).await.unwrap().id;
    company.projects().set_status(id, status).await.unwrap();
    id
}

/// Rules: PROJECT-2, PROJECT-3, PROJECT-4, ERROR-9
#[on_each_database]
async fn every_pair_of_statuses_does_what_the_table_says(db: Database) {
    use ProjectStatus::{Canceled, Completed, Open};
    for from in ProjectStatus::ALL {
        for to in ProjectStatus::ALL {
            let world = World::new(db).await;
            let projects = world.company.projects();
            let id = project_in(&world.company, *from).await;
            let seen = events(&world.company).await.len();
            world.advance(DAY);
            let call = projects.set_status(id, *to);
            match (from, to) {
                (Completed, Canceled) => conflict(&world, "COMPLETED to CANCELED", call).await,
                (from, to) if from == to => {
                    let project = nothing_happens(&world, call).await;
                    assert_eq!(project.status, *to);
                }
                (Open | Canceled, Completed) => {
                    let project = call.await.unwrap();
                    assert_eq!(project.completed_at, Some(world.now()));
                    assert_eq!(kinds_after(&world.company, seen).await, ["project.completed"], "{from} {to}");
                }
                _ => {
                    let project = call.await.unwrap();
                    assert_eq!((project.status, project.completed_at), (*to, None));
                    assert_eq!(events(&world.company).await.len(), seen, "{from} {to}");
                }
            }
        }
    }
}

/// Rules: PROJECT-2, EVENT-7
#[on_each_database]
async fn a_project_that_is_completed_again_is_announced_again(db: Database) {
    let world = World::new(db).await;
    let quote = world.accepted().await;
    let new = NewProject {
        name: " Façade ".into(),
        client_id: Some(quote.summary.client_id),
        quote_ids: vec![quote.summary.id],
    };
    let project = world.company.projects().create(&new).await.unwrap();
    assert_eq!((project.name.as_str(), project.status), ("Façade", ProjectStatus::Open));
    let seen = events(&world.company).await.len();
    let mut completed = Vec::new();
    for _ in 0..3 {
        world.advance(DAY);
        let project =
            world.company.projects().set_status(project.id, ProjectStatus::Completed).await.unwrap();
        completed.push(project.completed_at.unwrap().to_string());
        world.company.projects().set_status(project.id, ProjectStatus::Open).await.unwrap();
    }
    let events: Vec<_> = events(&world.company).await.into_iter().skip(seen).collect();
    assert_eq!(events.len(), 3);
    for (event, completed) in events.iter().zip(completed) {
        let body = body(event);
        assert_eq!(body["event"], "project.completed");
        let data = &body["data"];
        assert_eq!(
            keys(data),
            ["clientEmail", "clientName", "completedAt", "id", "name", "quoteIds", "status"]
        );
        assert_eq!(data["completedAt"], completed);
        assert_eq!(data["clientName"], "Lefèvre");
        assert_eq!(data["quoteIds"], serde_json::json!([quote.summary.id]));
        assert_eq!(data["status"], "COMPLETED");
    }
}

/// Rules: STATE-2
#[on_each_database]
async fn simultaneous_completions_are_announced_once(db: Database) {
    let world = World::new(db).await;
    let id = project_in(&world.company, ProjectStatus::Open).await;
    let projects = world.company.projects();
    let results = join_all((0..20).map(|_| projects.set_status(id, ProjectStatus::Completed))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(kinds_after(&world.company, 0).await, ["project.completed"]);
}

/// Rules: PROJECT-1
#[on_each_database]
async fn a_project_is_made_of_the_company_s_own_clients_and_quotes(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre", Plan::Pro).await;
    let foreign = world.draft().await;
    let new = NewProject { name: "x".into(), client_id: None, quote_ids: Vec::new() };
    for client in [ClientId(Uuid::nil()), foreign.summary.client_id] {
        let new = NewProject { client_id: Some(client), ..new.clone() };
        invalid(&world, "clientId", other.projects().create(&new)).await;
    }
    for quote in [QuoteId(Uuid::nil()), foreign.summary.id] {
        let new = NewProject { quote_ids: vec![quote], ..new.clone() };
        invalid(&world, "quoteIds", other.projects().create(&new)).await;
    }
    invalid(&world, "name", other.projects().create(&NewProject { name: " ".into(), ..new.clone() })).await;
    let id = world.company.projects().create(&new).await.unwrap().id;
    not_found(&world, "get", other.projects().get(id)).await;
    not_found(&world, "set", other.projects().set_status(id, ProjectStatus::Completed)).await;
    assert!(other.projects().list().await.unwrap().is_empty());
    assert_eq!(world.company.projects().list().await.unwrap().len(), 1);
}
