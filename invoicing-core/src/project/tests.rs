use super::*;
use crate::fixtures::*;
use ProjectStatus::{Canceled, Completed, Open};

fn project() -> Project {
    let quotes = vec![QuoteId(uuid(2)), QuoteId(uuid(7))];
    Project::open(ProjectId(uuid(4)), " Hall ", Some(&client()), quotes, time(0)).unwrap()
}

fn project_in(status: ProjectStatus) -> Project {
    match status {
        Open => project(),
        Completed | Canceled => project().set_status(status, time(1)).unwrap().unwrap().record,
    }
}

/// Rules: PROJECT-2, PROJECT-3, PROJECT-4
#[test]
fn every_move_between_two_states_does_what_the_contract_says() {
    for &from in ProjectStatus::ALL {
        for &to in ProjectStatus::ALL {
            let project = project_in(from);
            assert_eq!(project.status, from);
            let moved = project.set_status(to, time(9));
            if (from, to) == (Completed, Canceled) {
                assert!(moved.is_err());
                continue;
            }
            let moved = moved.unwrap();
            if from == to {
                assert_eq!(moved, None, "{from} again is nothing");
                continue;
            }
            let moved = moved.unwrap();
            assert_eq!((moved.record.status, moved.record.updated_at), (to, at(9)));
            let completed = to == Completed;
            assert_eq!(moved.record.completed_at, completed.then(|| at(9)));
            let events: Vec<_> = moved.events.iter().map(|event| (event.name(), event.timestamp)).collect();
            let expected = if completed { vec![("project.completed", at(9))] } else { vec![] };
            assert_eq!(events, expected, "{from} to {to}");
        }
    }
}

/// Rules: PROJECT-2
#[test]
fn completed_again_is_announced_again() {
    let reopened = project_in(Completed).set_status(Open, time(5)).unwrap().unwrap();
    assert!(reopened.events.is_empty());
    assert_eq!(reopened.record.completed_at, None);
    let again = reopened.record.set_status(Completed, time(6)).unwrap().unwrap();
    assert_eq!(again.events.len(), 1);
    assert_eq!(again.record.completed_at, Some(at(6)));
}

/// Rules: PROJECT-1
#[test]
fn a_project_needs_a_name_and_may_do_without_a_client() {
    assert_eq!(project().name, "Hall");
    let alone = Project::open(ProjectId(uuid(4)), "Hall", None, Vec::new(), time(0)).unwrap();
    assert_eq!((alone.status, alone.client_name, alone.client_email), (Open, None, None));
    assert_eq!(Project::open(ProjectId(uuid(4)), " ", None, Vec::new(), time(0)).unwrap_err().field, "name");
}
