//! Walks over lists that move between any two pages: every way for short ones, random ways for longer ones.

use invoicing_core::Timestamp;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

/// A list in some order of its own, in which a version is never seen twice at two places.
#[derive(Debug, Clone)]
struct Moving {
    list: Vec<RecordVersion>,
    stamp: i64,
}

#[derive(Debug, Clone, Copy)]
enum Move {
    /// One of the list changes and goes to the end.
    ToEnd(usize),
    /// One of the list changes and goes to the front.
    ToFront(usize),
    /// One leaves the list.
    Out(usize),
    /// One comes in, anywhere.
    In(usize),
}

impl Moving {
    fn new(count: i64) -> Self {
        let mut list = Self { list: Vec::new(), stamp: 0 };
        (0..count).for_each(|n| list.apply(Move::In(usize::try_from(n).unwrap())));
        list
    }

    fn version(&mut self) -> RecordVersion {
        self.stamp += 1;
        let id = Uuid::from_u128(u128::from(self.stamp.unsigned_abs()));
        RecordVersion { updated_at: Timestamp::from_millis(self.stamp), id }
    }

    fn apply(&mut self, step: Move) {
        let len = self.list.len();
        match step {
            Move::In(at) => {
                let version = self.version();
                self.list.insert(at % (len + 1), version);
            }
            _ if len == 0 => {}
            Move::ToEnd(at) => {
                self.list.remove(at % len);
                let version = self.version();
                self.list.push(version);
            }
            Move::ToFront(at) => {
                self.list.remove(at % len);
                let version = self.version();
                self.list.insert(0, version);
            }
            Move::Out(at) => {
                self.list.remove(at % len);
            }
        }
    }
}

/// Walks; what was there all the time and was not read. `None` where the walk was given up.
fn missed(
    mut list: Moving,
    page: usize,
    overlap: usize,
    moves: &[(usize, Move)],
) -> Option<Vec<RecordVersion>> {
    let mut cursor = PageCursor::new(overlap);
    let mut before: Vec<_> = list.list.clone();
    let mut read = HashSet::new();
    for request in 0.. {
        for (_, step) in moves.iter().filter(|(at, _)| *at == request) {
            list.apply(*step);
            if request == 0 {
                before.clone_from(&list.list);
            }
        }
        let offset = usize::try_from(cursor.offset()).unwrap();
        let found: Vec<_> = list.list.iter().skip(offset).take(page).copied().collect();
        if !cursor.follows(&found) {
            cursor.step_back().ok()?;
            continue;
        }
        cursor.advance(&found, u32::try_from(page).unwrap());
        read.extend(found);
        if list.list.len() <= offset + page {
            break;
        }
    }
    before.retain(|version| list.list.contains(version) && !read.contains(version));
    Some(before)
}

fn moves() -> Vec<Move> {
    let to_end = [0, 1, 2, 4].map(Move::ToEnd);
    let others = [Move::ToFront(1), Move::ToFront(5), Move::Out(0), Move::Out(3), Move::In(0), Move::In(3)];
    to_end.into_iter().chain(others).collect()
}

/// Calls with every way to place these moves before the requests.
fn each_way(
    depth: usize,
    requests: usize,
    so_far: &mut Vec<(usize, Move)>,
    run: &mut impl FnMut(&[(usize, Move)]),
) {
    run(so_far);
    if depth == 0 {
        return;
    }
    for request in so_far.last().map_or(0, |(at, _)| *at)..requests {
        for step in moves() {
            so_far.push((request, step));
            each_way(depth - 1, requests, so_far, run);
            so_far.pop();
        }
    }
}

#[test]
fn nothing_is_jumped_over_in_any_way_of_moving() {
    let (mut ways, mut given_up) = (0, 0);
    for overlap in [1, 2] {
        each_way(3, 5, &mut vec![], &mut |moves| {
            ways += 1;
            match missed(Moving::new(7), 3, overlap, moves) {
                Some(missed) => assert_eq!(missed, [], "overlap {overlap}, {moves:?}"),
                None => given_up += 1,
            }
        });
    }
    println!("{ways} ways of moving while a list is walked over, {given_up} given up: nothing jumped over");
    assert_eq!(given_up, 0, "three moves are no reason to give up");
}

#[test]
fn without_an_overlap_something_is_jumped_over() {
    let (mut ways, mut losses) = (0, 0);
    each_way(2, 4, &mut vec![], &mut |moves| {
        ways += 1;
        losses += usize::from(missed(Moving::new(7), 3, 0, moves).is_none_or(|missed| !missed.is_empty()));
    });
    assert!(losses > ways / 20, "{losses} of {ways}");
}

#[test]
fn nothing_moves_and_each_is_read_as_often_as_the_overlap_says() {
    let mut cursor = PageCursor::new(10);
    let list = Moving::new(1_000).list;
    let mut requests = 0;
    while usize::try_from(cursor.offset()).unwrap() + 100 < list.len() {
        let offset = usize::try_from(cursor.offset()).unwrap();
        let page = &list[offset..offset + 100];
        assert!(cursor.follows(page));
        cursor.advance(page, 100);
        requests += 1;
    }
    assert_eq!(requests, 10, "and the last one, instead of 10 without an overlap");
    assert_eq!(cursor.steps_back, 0);
}

#[test]
fn a_large_import_with_one_stamp_is_walked_over() {
    let list: Vec<_> = (0..1_000_u128)
        .map(|n| RecordVersion { updated_at: Timestamp::from_millis(1), id: Uuid::from_u128(n) })
        .collect();
    let mut cursor = PageCursor::new(5);
    for _ in 0..12 {
        let offset = usize::try_from(cursor.offset()).unwrap();
        let page = &list[offset.min(list.len())..(offset + 100).min(list.len())];
        if page.len() <= 5 {
            break;
        }
        assert!(cursor.follows(page), "at {offset}");
        cursor.advance(page, 100);
    }
    assert_eq!(cursor.read.len(), 1_000);
    assert_eq!(cursor.steps_back, 0);
}

#[test]
fn pages_too_short_to_overlap_are_given_up_rather_than_trusted() {
    let list = Moving::new(5).list;
    let mut cursor = PageCursor::new(2);
    let given_up = (0..200).any(|_| {
        let offset = usize::try_from(cursor.offset()).unwrap();
        let page = &list[offset..=offset];
        if cursor.follows(page) {
            cursor.advance(page, 1);
            false
        } else {
            cursor.step_back().is_err()
        }
    });
    assert!(given_up);
}

#[test]
fn a_tie_is_no_anchor_where_the_page_begins_with_it() {
    let at = |stamp, id| RecordVersion { updated_at: Timestamp::from_millis(stamp), id: Uuid::from_u128(id) };
    let list = [at(9, 1), at(8, 2), at(5, 3), at(5, 4), at(3, 5)];
    let mut cursor = PageCursor::new(2);
    cursor.advance(&list[..3], 3);
    assert_eq!(cursor.offset(), 1);
    // Nothing moved, or only the ties have changed places.
    assert!(cursor.follows(&[list[1], list[2], list[3]]) && cursor.follows(&[list[1], list[3], list[2]]));
    // The first two are gone as well: the second of the ties is jumped over.
    assert!(!cursor.follows(&[list[2], list[4]]));
    cursor.step_back().ok().unwrap();
    assert_eq!(cursor.offset(), 0);
    assert!(cursor.follows(&[list[3], list[2], list[4]]));
}

fn any_move() -> impl Strategy<Value = Move> {
    let at = 0..1_000_usize;
    prop_oneof![
        3 => at.clone().prop_map(Move::ToEnd),
        1 => at.clone().prop_map(Move::ToFront),
        1 => at.clone().prop_map(Move::Out),
        1 => at.prop_map(Move::In),
    ]
}

proptest! {
    #[test]
    fn nothing_is_jumped_over(
        count in 0..60_i64,
        page in 2..12_usize,
        overlap in 1..6_usize,
        moves in proptest::collection::vec((0..12_usize, any_move()), 0..40),
    ) {
        let mut moves = moves;
        moves.sort_by_key(|(request, _)| *request);
        if let Some(missed) = missed(Moving::new(count), page, overlap, &moves) {
            prop_assert_eq!(missed, []);
        }
    }
}
