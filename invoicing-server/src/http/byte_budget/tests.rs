use std::time::Duration;

use futures_util::FutureExt;
use http::Version;
use http_body_util::BodyExt;
use tokio::time::advance;
use uuid::Uuid;

use super::ledger::{DOWNLOADS_PER_DOCUMENT, LOWEST_SPEED, PATIENCE};
use super::shares::Share;
use super::*;
use crate::config::MIN_BUFFERED_BYTES;
use crate::http::response_body::{Body, UnreadResponse};

/// The share of a company's keys and people, and of a connection. A company's documents have three
/// quarters of it, its links half, a document and unknown callers a quarter.
const SHARE: usize = 2 * 1024 * 1024;
/// A size that is too large for the reserves.
const LARGE: usize = 64 * 1024;

fn budget() -> Arc<ByteBudget> {
    Arc::new(ByteBudget::new(4 * SHARE))
}

fn company(id: u128) -> Owner {
    Owner { connection: None, holder: Holder::Company(CompanyId(Uuid::from_u128(id))) }
}

/// A document of the company with this id.
fn document(id: u128) -> Owner {
    let key = DocumentKey { company: CompanyId(Uuid::from_u128(id)), upload: Uuid::from_u128(id) };
    Owner { connection: None, holder: Holder::Document(key, Proof::Url) }
}

fn another_document(id: u128) -> Owner {
    let key = DocumentKey { company: CompanyId(Uuid::from_u128(id)), upload: Uuid::nil() };
    Owner { connection: None, holder: Holder::Document(key, Proof::Url) }
}

/// The same document by a link.
fn linked_document(id: u128) -> Owner {
    let key = DocumentKey { company: CompanyId(Uuid::from_u128(id)), upload: Uuid::from_u128(id) };
    Owner { connection: None, holder: Holder::Document(key, Proof::Link) }
}

fn link(id: u128, token: u8) -> Owner {
    let company = CompanyId(Uuid::from_u128(id));
    Owner { connection: None, holder: Holder::Link { company, token: [token; 32] } }
}

fn on(connection: &ConnectionHandle, Owner { holder, .. }: Owner) -> Owner {
    Owner { connection: Some(connection.clone()), holder }
}

fn connection() -> (ConnectionHandle, Arc<Notify>) {
    let close = Arc::new(Notify::new());
    (ConnectionHandle::new(Arc::clone(&close)), close)
}

/// True if the connection was asked to close.
fn must_close(close: &Notify) -> bool {
    close.notified().now_or_never().is_some()
}

fn answer(budget: &Arc<ByteBudget>, owner: Owner, bytes: usize) -> Result<Body, ApiError> {
    Ok(Body::new(vec![0; bytes].into(), budget.admit(owner)?, Version::HTTP_11))
}

/// An answer over HTTP/2 of which hyper has taken the first piece.
fn begun(budget: &Arc<ByteBudget>, owner: Owner, bytes: usize) -> (Body, Bytes) {
    let mut body = Body::new(vec![0; bytes].into(), budget.admit(owner).unwrap(), Version::HTTP_2);
    let first = piece(&mut body).unwrap().unwrap();
    (body, first)
}

fn piece(body: &mut Body) -> Option<Result<Bytes, UnreadResponse>> {
    let frame = body.frame().now_or_never().expect("a body is always ready")?;
    Some(frame.map(|frame| frame.into_data().expect("no trailers")))
}

/// True if the rest of a body was dropped.
fn was_ended(body: &mut Body) -> bool {
    matches!(piece(body), Some(Err(UnreadResponse)))
}

fn total(budget: &ByteBudget) -> usize {
    budget.ledger.lock().bytes(Share::Total)
}

#[tokio::test]
async fn an_answer_leaves_in_pieces_and_counts_until_they_are_dropped() {
    let budget = budget();
    let bytes = ANSWER_AT_ONCE + 1;
    let mut body = answer(&budget, company(1), bytes).unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = piece(&mut body) {
        pieces.push(piece.unwrap());
        assert!(total(&budget) >= bytes);
    }
    assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [vec![PIECE; 8], vec![1]].concat());
    assert_eq!(total(&budget), bytes);
    drop(body);
    drop(pieces.split_off(1));
    assert_eq!(total(&budget), PIECE);
    drop(pieces);
    assert_eq!((total(&budget), budget.ledger.lock().shares_in_use()), (0, 0));
}

/// Rules: FAIR-9
#[tokio::test]
async fn an_answer_that_all_share_leaves_whole_and_without_a_copy() {
    let bytes = Bytes::from(vec![0; 10 * ANSWER_AT_ONCE]);
    let mut body = Body::from(bytes.clone());
    let all = piece(&mut body).unwrap().unwrap();
    assert_eq!((all.len(), all.as_ptr()), (bytes.len(), bytes.as_ptr()));
    assert!(piece(&mut body).is_none());
}

/// Rules: FAIR-9
#[tokio::test]
async fn unknown_callers_on_a_few_connections_leave_room_for_those_on_others() {
    const PAGE: usize = 4 * 1024;
    let (budget, unknown) = (budget(), Owner { connection: None, holder: Holder::Unknown });
    let mut unread = Vec::new();
    for _ in 0..16 {
        let (connection, _) = connection();
        // One answer for each of the streams that a connection may have.
        let answers = (0..64).map_while(|_| answer(&budget, on(&connection, unknown.clone()), PAGE).ok());
        unread.extend(answers);
    }
    assert!(total(&budget) <= budget.limits.of(Share::Unknown, 0) * 3 / 4, "{}", total(&budget));
    let (another, _) = connection();
    assert!(answer(&budget, on(&another, unknown), PAGE).is_ok());
}

/// Rules: SIGN-10
#[tokio::test]
async fn unread_pages_of_a_link_leave_room_for_other_links_and_for_keys() {
    let budget = budget();
    let unread = |token| (0..).map_while(|_| answer(&budget, link(1, token), LARGE).ok()).collect::<Vec<_>>();
    let of_links: Vec<_> = (0..3).map(unread).collect();
    assert_eq!(of_links.iter().map(Vec::len).collect::<Vec<_>>(), [5; 3]);
    let more: Vec<_> = (3..9).map(unread).collect();
    assert!(more.iter().any(Vec::is_empty), "all links of a company have a share");
    assert!(budget.admit(company(1)).unwrap().grow(SHARE).is_ok());
}

#[tokio::test]
async fn an_ordinary_page_is_one_piece_over_http_1_while_there_is_room() {
    let budget = budget();
    let at_once = budget.limits.at_once() / ANSWER_AT_ONCE;
    let mut bodies: Vec<_> =
        (0..=at_once).map(|_| answer(&budget, company(1), ANSWER_AT_ONCE).unwrap()).collect();
    let sizes = bodies.iter_mut().map(|body| piece(body).unwrap().unwrap().len());
    assert_eq!(sizes.collect::<Vec<_>>(), [vec![ANSWER_AT_ONCE; at_once], vec![PIECE]].concat());
    drop(bodies);
    assert_eq!((total(&budget), budget.ledger.lock().sending()), (0, 0));
    let mut download = answer(&budget, document(1), ANSWER_AT_ONCE).unwrap();
    assert_eq!(piece(&mut download).unwrap().unwrap().len(), PIECE);
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
    for bytes in [PIECE, 9 * PIECE] {
        drop(answer(&budget, company(1), bytes).unwrap());
        assert_eq!((total(&budget), budget.ledger.lock().shares_in_use()), (0, 0));
    }
}

/// Rules: FAIR-1, FAIR-2
#[tokio::test(start_paused = true)]
async fn a_company_over_its_share_loses_its_answer_that_is_late_for_longest() {
    let budget = budget();
    let mut first = answer(&budget, company(1), SHARE / 2).unwrap();
    advance(PATIENCE).await;
    let mut second = answer(&budget, company(1), SHARE / 2).unwrap();
    for _ in 0..2 {
        piece(&mut first).unwrap().unwrap();
    }
    advance(PATIENCE / 2).await;
    piece(&mut second).unwrap().unwrap();
    let next = budget.admit(company(1)).unwrap();
    assert!(next.grow(LARGE).is_err(), "both keep pace");
    assert!(budget.admit(company(2)).unwrap().grow(LARGE).is_ok());
    advance(PATIENCE / 2).await;
    assert!(next.grow(LARGE).is_ok());
    assert_eq!([&mut first, &mut second].map(was_ended), [true, false]);
}

/// Rules: FAIR-2
#[tokio::test(start_paused = true)]
async fn the_company_that_holds_most_gives_way_even_if_its_peers_keep_pace() {
    let budget = budget();
    let mut others = [1, 2, 3].map(|id| answer(&budget, company(id), SHARE * 4 / 5).unwrap());
    let mut largest = [(); 2].map(|()| answer(&budget, company(4), SHARE / 2).unwrap());
    advance(PATIENCE / 4).await;
    for body in largest.iter_mut().rev().chain(&mut others) {
        piece(body).unwrap().unwrap();
        advance(PATIENCE / 16).await;
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
async fn a_connection_and_unknown_callers_have_a_share() {
    let (one, _close) = connection();
    let unknown = || Owner { connection: None, holder: Holder::Unknown };
    for (owners, share, other) in [
        ([on(&one, document(1)), on(&one, document(2))], SHARE, on(&one, company(3))),
        ([unknown(), unknown()], SHARE / 4, company(3)),
    ] {
        let budget = budget();
        let [first, second] = owners;
        let held = budget.admit(first).unwrap();
        held.grow(share - LARGE).unwrap();
        let name = format!("{second:?}");
        let late = budget.admit(second).unwrap();
        late.grow(LARGE / 2).unwrap();
        assert!(late.grow(LARGE).is_err(), "{name}");
        assert!(budget.admit(other).unwrap().grow(LARGE).is_ok(), "{name}");
    }
}

/// Rules: FAIR-1, FAIR-4
#[tokio::test]
async fn a_document_and_a_link_have_a_share() {
    for (first, second, share, others) in [
        (
            document(1),
            document(1),
            SHARE / 4 - 2 * LARGE,
            [another_document(1), linked_document(1), link(1, 1)],
        ),
        (
            document(1),
            another_document(1),
            SHARE * 3 / 4 - 2 * LARGE,
            [document(2), linked_document(1), link(1, 1)],
        ),
        (
            linked_document(1),
            linked_document(1),
            SHARE / 4 - 2 * LARGE,
            [document(1), link(1, 1), company(1)],
        ),
        (link(1, 1), link(1, 1), MIN_BUFFERED_BYTES - 2 * LARGE, [link(1, 2), document(1), company(1)]),
        (link(1, 1), link(1, 2), SHARE / 2 - 2 * LARGE, [link(2, 3), document(1), company(1)]),
    ] {
        let budget = budget();
        let held = budget.admit(first).unwrap();
        held.grow(share).unwrap();
        let readers = [(); 3].map(|()| budget.admit(second.clone()).unwrap());
        let are_served = readers.each_ref().map(|reader| reader.grow(LARGE).is_ok());
        assert_eq!(are_served, [true, true, false], "{second:?}");
        for other in others {
            let name = format!("{other:?} beside {second:?}");
            assert!(budget.admit(other).unwrap().grow(LARGE).is_ok(), "{name}");
        }
        assert!(budget.admit(company(1)).unwrap().grow(SHARE).is_ok(), "{second:?}");
    }
}

/// Rules: FAIR-2, FAIR-4
#[tokio::test(start_paused = true)]
async fn a_reader_who_moves_too_slowly_gives_way_to_one_who_keeps_pace() {
    let (budget, size) = (budget(), SHARE / 2);
    let [mut slow, mut steady] = [(); 2].map(|()| answer(&budget, document(1), size).unwrap());
    // At this pace a piece takes a second.
    let second = Duration::from_secs((PIECE / LOWEST_SPEED) as u64);
    for n in 0..16 {
        advance(second).await;
        piece(&mut steady).unwrap().unwrap();
        if n % 2 == 0 {
            piece(&mut slow).unwrap().unwrap();
        }
    }
    let faster = budget.admit(document(1)).unwrap();
    faster.grow(size).unwrap();
    assert_eq!((was_ended(&mut slow), was_ended(&mut steady)), (true, false));
    assert!(budget.admit(document(1)).unwrap().grow(size).is_err(), "the others keep pace");
}

/// Rules: FAIR-1
#[tokio::test]
async fn a_company_uses_up_no_connection_that_a_proxy_shares() {
    let budget = budget();
    let (proxy, _close) = connection();
    let held = budget.admit(on(&proxy, company(1))).unwrap();
    held.grow(SHARE).unwrap();
    assert!(budget.admit(on(&proxy, company(1))).unwrap().grow(LARGE).is_err());
    let beside = [on(&proxy, company(2)), on(&proxy, document(3))].map(|owner| budget.admit(owner).unwrap());
    assert_eq!(beside.each_ref().map(|beside| beside.grow(SHARE).is_ok()), [true; 2]);
}

/// Rules: FAIR-3
#[tokio::test]
async fn an_answer_of_any_size_is_admitted_alone_and_leaves_room_for_small_ones() {
    let budget = budget();
    let (one, _close) = connection();
    let held = budget.admit(on(&one, company(1))).unwrap();
    held.grow(SHARE + SHARE / 16).unwrap();
    let late = budget.admit(on(&one, company(1))).unwrap();
    assert!(late.grow(LARGE).is_err());
    late.grow(PIECE).unwrap();
    let large_document = budget.admit(document(2)).unwrap();
    large_document.grow(SHARE / 2).unwrap();
    let alone = budget.admit(document(3)).unwrap();
    alone.grow(SHARE + LARGE).unwrap();
}

/// Rules: FAIR-4
#[tokio::test]
async fn the_largest_document_has_two_readers_beside_what_is_under_way() {
    let budget = budget();
    let mut first = answer(&budget, document(1), SHARE / 2).unwrap();
    let under_way: Vec<_> = (0..4).map(|_| piece(&mut first).unwrap().unwrap()).collect();
    let readers = [(); 2].map(|()| budget.admit(document(1)).unwrap());
    let are_served = readers.each_ref().map(|reader| reader.grow(SHARE / 2).is_ok());
    assert_eq!(are_served, [true, false]);
    drop(under_way);
}

/// Rules: FAIR-2
#[tokio::test(start_paused = true)]
async fn nothing_is_ended_where_that_would_not_suffice() {
    let budget = budget();
    let mut small = answer(&budget, company(1), LARGE).unwrap();
    let held = budget.admit(company(1)).unwrap();
    held.grow(SHARE - 2 * LARGE).unwrap();
    advance(PATIENCE).await;
    assert!(budget.admit(company(1)).unwrap().grow(3 * LARGE).is_err());
    assert!(!was_ended(&mut small));
}

/// Rules: FAIR-2
#[tokio::test(start_paused = true)]
async fn only_the_own_answers_or_those_of_a_larger_holder_give_way() {
    let budget = budget();
    let (proxy, _close) = connection();
    let mut small = answer(&budget, on(&proxy, document(1)), LARGE).unwrap();
    let held = budget.admit(on(&proxy, document(2))).unwrap();
    held.grow(SHARE - LARGE).unwrap();
    advance(PATIENCE).await;
    assert!(budget.admit(on(&proxy, document(6))).unwrap().grow(LARGE).is_err());
    let others = [3, 4, 5].map(|id| budget.admit(company(id)).unwrap());
    for other in &others {
        other.grow(SHARE * 13 / 16).unwrap();
    }
    assert!(others[0].grow(3 * LARGE).is_err());
    assert!(!was_ended(&mut small));
}

/// Rules: FAIR-5
#[tokio::test(start_paused = true)]
async fn over_http_2_the_first_pieces_are_small() {
    let budget = budget();
    let (mut body, first) = begun(&budget, document(1), 5 * PIECE);
    let mut sizes = vec![first.len()];
    while let Some(piece) = piece(&mut body) {
        sizes.push(piece.unwrap().len());
    }
    assert_eq!(sizes[..5], [1024, 4096, PIECE, PIECE, PIECE]);
}

/// Rules: FAIR-2, FAIR-5
#[tokio::test(start_paused = true)]
async fn a_connection_closes_where_only_what_it_has_taken_is_left_to_end() {
    let budget = budget();
    let [(stalled, close), (moving, other_close)] = [(); 2].map(|()| connection());
    // 16 KiB and the first piece each.
    let taken: Vec<_> = (0..40).map(|_| begun(&budget, on(&stalled, company(1)), PIECE)).collect();
    let held = budget.admit(company(1)).unwrap();
    held.grow(SHARE - 700 * 1024).unwrap();
    let mut moves = begun(&budget, on(&moving, document(1)), PIECE);
    advance(PATIENCE).await;
    piece(&mut moves.0).unwrap().unwrap();
    budget.admit(company(1)).unwrap().grow(600 * 1024).unwrap();
    assert!(!must_close(&close), "the rests suffice");
    let late = budget.admit(on(&moving, company(1))).unwrap();
    late.grow(670 * 1024).unwrap();
    assert!(must_close(&close) && !must_close(&other_close));
    drop((taken, moves, late, held));
    assert_eq!((total(&budget), budget.ledger.lock().shares_in_use()), (0, 0));
}

/// Rules: FAIR-2, FAIR-5
#[tokio::test(start_paused = true)]
async fn a_company_that_needs_memory_closes_no_connection_that_others_use() {
    let budget = budget();
    let (proxy, close) = connection();
    // 16 KiB and the first piece each.
    let taken: Vec<_> = (0..40).map(|_| begun(&budget, on(&proxy, company(1)), PIECE)).collect();
    let held = budget.admit(company(1)).unwrap();
    held.grow(SHARE - 680 * 1024).unwrap();
    advance(PATIENCE).await;
    let needs = || budget.admit(company(1)).unwrap().grow(660 * 1024);
    let answer_to = |other| {
        let beside = budget.admit(on(&proxy, other)).unwrap();
        beside.grow(PIECE).unwrap();
        assert!(needs().is_err() && !must_close(&close), "it is in use");
        Body::new(vec![0; PIECE].into(), beside, Version::HTTP_2)
    };
    let page = answer_to(company(2));
    advance(PATIENCE).await;
    assert!(needs().is_err() && !must_close(&close), "its answer may still be read");
    drop(page);
    let download = answer_to(document(3));
    assert!(needs().is_err() && !must_close(&close), "it may be under way");
    advance(PATIENCE).await;
    needs().unwrap();
    assert!(must_close(&close), "any caller can leave a download unread");
    drop((taken, download));
}

/// Rules: FAIR-3
#[tokio::test]
async fn the_last_part_of_the_budget_is_for_small_answers() {
    let budget = budget();
    let held = [1, 2, 3, 4].map(|id| budget.admit(company(id)).unwrap());
    assert_eq!(held.each_ref().map(|held| held.grow(SHARE).is_ok()), [true, true, true, false]);
    held[3].grow(SHARE / 2).unwrap();
    let late = budget.admit(company(9)).unwrap();
    assert!(late.grow(LARGE).is_err());
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
    advance(PATIENCE).await;
    assert!(budget.admit(document(1)).is_ok(), "one that is late gives way");
    assert!(downloads.iter_mut().any(was_ended));
}

#[tokio::test(start_paused = true)]
async fn an_answer_past_its_deadline_is_ended() {
    let budget = budget();
    let [mut late, mut small] =
        [ANSWER_AT_ONCE + 1, PIECE].map(|bytes| answer(&budget, company(1), bytes).unwrap());
    let deadline = Instant::now() + PATIENCE;
    late.end_after(deadline);
    small.end_after(deadline);
    budget.end_overdue(deadline - Duration::from_millis(1));
    assert_eq!(total(&budget), ANSWER_AT_ONCE + 1 + PIECE);
    budget.end_overdue(deadline);
    assert!(was_ended(&mut late) && !was_ended(&mut small));
}

#[tokio::test]
async fn an_answer_counts_instead_of_its_reservation() {
    let budget = budget();
    for (reserved, length) in [(0, 10), (10, 10), (1_000, 10), (10, 3 * PIECE), (9 * PIECE, 3 * PIECE)] {
        let reservation = budget.admit(company(1)).unwrap();
        reservation.grow(reserved).unwrap();
        let body = Body::new(vec![0; length].into(), reservation, Version::HTTP_11);
        assert_eq!(total(&budget), length, "{reserved} reserved");
        drop(body);
    }
}

#[tokio::test]
async fn an_answer_reserves_once_and_at_most_the_whole_budget() {
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
    reservation.cover(5 * SHARE).unwrap();
    assert_eq!(total(&budget), SHARE * 7 / 4);
}

/// Rules: FAIR-1
#[tokio::test]
async fn an_answer_larger_than_the_budget_is_reserved_beside_others() {
    let budget = budget();
    let others = [1, 2].map(|id| budget.admit(company(id)).unwrap());
    for other in &others {
        other.grow(SHARE / 2).unwrap();
    }
    for owner in [company(3), document(4)] {
        budget.admit(owner).unwrap().cover(5 * SHARE).unwrap();
    }
}
