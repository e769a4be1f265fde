use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::time::advance;
use uuid::Uuid;

use super::*;
use crate::api::response_body::{Body, UnreadResponse};

/// The share of a company and of a connection. A document and unknown callers have a quarter of it.
const SHARE: usize = 2 * 1024 * 1024;

fn budget() -> Arc<ByteBudget> {
    Arc::new(ByteBudget::new(4 * SHARE))
}

fn company(id: u128) -> Owner {
    Owner { connection: None, caller: Caller::Company(CompanyId(Uuid::from_u128(id))) }
}

fn document(id: u128) -> Owner {
    let key = DocumentKey { company: CompanyId(Uuid::from_u128(id)), upload: Uuid::from_u128(id) };
    Owner { connection: None, caller: Caller::Document(key) }
}

fn answer(budget: &Arc<ByteBudget>, owner: Owner, bytes: usize) -> Result<Body, ApiError> {
    Ok(Body::new(vec![0; bytes].into(), budget.admit(owner)?))
}

fn piece(body: &mut Body) -> Option<Result<Bytes, UnreadResponse>> {
    let frame = body.frame().now_or_never().expect("a body is always ready")?;
    Some(frame.map(|frame| frame.into_data().expect("no trailers")))
}

/// Whether the rest of a body was dropped.
fn was_ended(body: &mut Body) -> bool {
    matches!(piece(body), Some(Err(UnreadResponse)))
}

fn total(budget: &ByteBudget) -> usize {
    budget.inner.lock().total.bytes
}

#[tokio::test]
async fn an_answer_leaves_in_pieces_and_counts_until_they_are_dropped() {
    let budget = budget();
    let mut body = answer(&budget, company(1), 2 * PIECE + 1).unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = piece(&mut body) {
        pieces.push(piece.unwrap());
        assert!(total(&budget) > 2 * PIECE);
    }
    assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [PIECE, PIECE, 1]);
    assert_eq!(total(&budget), 2 * PIECE + 1);
    drop(body);
    drop(pieces.split_off(1));
    assert_eq!(total(&budget), PIECE);
    drop(pieces);
    assert_eq!((total(&budget), budget.inner.lock().held.len()), (0, 0));
}

#[tokio::test]
async fn a_small_answer_is_one_piece_and_counts_until_its_last_clone_is_dropped() {
    let budget = budget();
    let mut body = answer(&budget, company(1), PIECE).unwrap();
    let mut bytes = piece(&mut body).unwrap().unwrap();
    assert!(piece(&mut body).is_none());
    let rest = bytes.split_off(9);
    drop((body, bytes));
    assert_eq!(total(&budget), PIECE);
    drop(rest);
    assert_eq!(total(&budget), 0);
}

#[tokio::test]
async fn a_body_that_is_dropped_counts_no_longer() {
    let budget = budget();
    for bytes in [PIECE, 3 * PIECE] {
        drop(answer(&budget, company(1), bytes).unwrap());
        assert_eq!((total(&budget), budget.inner.lock().unread.len()), (0, 0));
    }
}

/// Rules: FAIR-1, FAIR-2
#[tokio::test(start_paused = true)]
async fn a_company_over_its_share_loses_its_answer_that_stands_still_longest() {
    let budget = budget();
    let mut first = answer(&budget, company(1), SHARE / 2).unwrap();
    advance(STALLED).await;
    let mut second = answer(&budget, company(1), SHARE / 2).unwrap();
    piece(&mut first).unwrap().unwrap();
    advance(STALLED / 2).await;
    piece(&mut second).unwrap().unwrap();
    assert!(budget.admit(company(1)).is_err(), "both move");
    assert!(budget.admit(company(2)).is_ok());
    advance(STALLED / 2).await;
    assert!(budget.admit(company(1)).is_ok());
    assert_eq!([&mut first, &mut second].map(was_ended), [true, false]);
}

/// Rules: FAIR-2
#[tokio::test(start_paused = true)]
async fn the_company_that_holds_most_gives_way_even_if_its_peers_read() {
    let budget = budget();
    let mut others = [1, 2, 3].map(|id| answer(&budget, company(id), SHARE * 4 / 5).unwrap());
    let mut largest = [(); 2].map(|()| answer(&budget, company(4), SHARE / 2).unwrap());
    advance(STALLED / 4).await;
    for body in largest.iter_mut().rev().chain(&mut others) {
        piece(body).unwrap().unwrap();
        advance(STALLED / 16).await;
    }
    let smallest = budget.admit(company(5)).unwrap();
    smallest.grow(SHARE / 5).unwrap();
    assert_eq!(largest.each_mut().map(was_ended), [false, true], "the one that moved first");
    assert_eq!(others.each_mut().map(was_ended), [false; 3]);
    assert!(budget.admit(company(4)).unwrap().grow(SHARE / 2).is_err(), "it would hold most");
    drop(smallest);
}

/// Rules: FAIR-1
#[tokio::test(start_paused = true)]
async fn a_connection_and_a_document_and_unknown_callers_have_a_share() {
    let on_connection = |id| Owner { connection: Some(ConnectionId(1)), ..company(id) };
    let unknown = Owner { connection: None, caller: Caller::Unknown };
    for (owners, share, other) in [
        ([on_connection(1), on_connection(2)], SHARE, company(3)),
        ([document(1); 2], SHARE / 4, company(3)),
        ([unknown; 2], SHARE / 4, company(3)),
    ] {
        let budget = budget();
        let [first, second] = owners;
        let held = budget.admit(first).unwrap();
        held.grow(share - 1).unwrap();
        assert!(budget.admit(second).unwrap().grow(2).is_err(), "{second:?}");
        held.grow(1).unwrap();
        assert!(budget.admit(second).is_err(), "{second:?}");
        assert!(budget.admit(other).unwrap().grow(PIECE).is_ok());
    }
}

/// Rules: FAIR-3
#[tokio::test]
async fn the_last_part_of_the_budget_is_for_small_answers() {
    let budget = budget();
    let held = [1, 2, 3, 4].map(|id| budget.admit(company(id)).unwrap());
    assert_eq!(held.each_ref().map(|held| held.grow(SHARE).is_ok()), [true, true, true, false]);
    held[3].grow(SHARE / 2).unwrap();
    let late = budget.admit(company(9)).unwrap();
    assert!(late.grow(PIECE + 1).is_err());
    late.grow(PIECE).unwrap();
}

/// Rules: FAIR-4
#[tokio::test(start_paused = true)]
async fn downloads_of_one_document_are_limited() {
    let budget = budget();
    let mut downloads: Vec<_> =
        (0..DOWNLOADS_PER_DOCUMENT).map(|_| answer(&budget, document(1), PIECE + 1).unwrap()).collect();
    assert!(budget.admit(document(1)).is_err());
    assert!(budget.admit(document(2)).is_ok());
    downloads.pop();
    assert!(budget.admit(document(1)).is_ok());
    downloads.push(answer(&budget, document(1), PIECE + 1).unwrap());
    advance(STALLED).await;
    assert!(budget.admit(document(1)).is_ok(), "one that stands still gives way");
    assert!(downloads.iter_mut().any(was_ended));
}

#[tokio::test(start_paused = true)]
async fn an_answer_past_its_deadline_is_ended() {
    let budget = budget();
    let [mut late, mut small] = [PIECE + 1, PIECE].map(|bytes| answer(&budget, company(1), bytes).unwrap());
    let deadline = Instant::now() + STALLED;
    late.end_after(deadline);
    small.end_after(deadline);
    budget.end_overdue(deadline - Duration::from_millis(1));
    assert_eq!(budget.inner.lock().unread.len(), 1);
    budget.end_overdue(deadline);
    assert!(was_ended(&mut late) && !was_ended(&mut small));
}

#[tokio::test]
async fn an_answer_counts_instead_of_its_reservation() {
    let budget = budget();
    for (reserved, length) in [(0, 10), (10, 10), (1_000, 10), (10, 3 * PIECE), (9 * PIECE, 3 * PIECE)] {
        let reservation = budget.admit(company(1)).unwrap();
        reservation.grow(reserved).unwrap();
        let body = Body::new(vec![0; length].into(), reservation);
        assert_eq!(total(&budget), length, "{reserved} reserved");
        drop(body);
    }
}

#[tokio::test]
async fn an_answer_is_reserved_once_before_it_is_built_and_counts_as_its_share_at_most() {
    let budget = budget();
    let reservation = budget.admit(company(1)).unwrap();
    for _ in 0..2 {
        reservation.cover(SHARE / 2).unwrap();
        assert_eq!(total(&budget), SHARE / 2);
    }
    let other = budget.admit(company(1)).unwrap();
    assert!(matches!(other.cover(SHARE), Err(ApiError::Overloaded)));
    assert!(other.cover(SHARE / 2).is_ok());
    drop((reservation, other));
    let reservation = budget.admit(company(1)).unwrap();
    reservation.cover(3 * SHARE).unwrap();
    assert_eq!(total(&budget), SHARE);
}
