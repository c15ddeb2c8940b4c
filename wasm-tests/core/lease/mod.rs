//! Which request owns the socket that the streams of an isolate share.

mod world;

use mcp_listen::{
    clock::Millis,
    lease::{Budget, Lease, LeaseOutput, Term},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use LeaseOutput::{Appoint, Prove, Release};

use world::{BUDGET, World};

#[test]
fn only_the_first_member_takes_the_socket() {
    let mut lease: Lease<u32> = Lease::new(Budget::default());
    lease.enter(7);
    lease.enter(8);
    assert_eq!(lease.owner(), None);
    assert_eq!(lease.take(7), Some(Term(1)));
    assert_eq!([lease.take(8), lease.take(7), lease.take(9)], [None; 3]);
    assert_eq!(lease.owner(), Some(7));
}

#[test]
fn when_the_owner_leaves_another_member_is_appointed() {
    let mut world = World::of(3);
    world.lease.leave(0);
    assert!(world.lease.take_moved());
    assert!(!world.lease.take_moved());
    assert_eq!(world.lease.poll_output(NOW, 0.99), Some(Appoint(2)));
    assert_eq!(world.lease.poll_output(NOW, 0.0), None);
    assert_eq!(world.lease.owner(), None);
}

#[test]
fn when_another_member_leaves_nothing_changes() {
    let mut world = World::of(3);
    world.lease.leave(1);
    world.lease.leave(1);
    assert!(!world.lease.take_moved());
    assert_eq!(world.lease.poll_output(NOW, 0.0), None);
    assert_eq!(world.lease.owner(), Some(0));
}

#[test]
fn when_the_appointed_member_leaves_another_is_appointed() {
    let mut world = World::of(3);
    world.lease.leave(0);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Appoint(1)));
    world.lease.leave(1);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Appoint(2)));
    assert_eq!(world.lease.take(2), Some(Term(2)));
}

#[test]
fn a_new_member_may_take_a_vacant_socket_before_the_appointed_one() {
    let mut world = World::of(2);
    world.lease.leave(0);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Appoint(1)));
    world.lease.enter(2);
    assert!(world.lease.take(2).is_some());
    assert_eq!(world.lease.take(1), None);
}

#[test]
fn the_next_owner_is_drawn_among_fresh_members() {
    let chosen = [0.0, 0.3, 0.6, 0.999].map(|random| {
        let mut world = World::of(5);
        world.lease.leave(0);
        world.lease.poll_output(NOW, random)
    });
    assert_eq!(chosen, [1, 2, 3, 4].map(|id| Some(Appoint(id))));
}

#[test]
fn a_spent_request_yields_and_never_owns_the_socket_again() {
    let mut world = World::of(3);
    world.lease.handle_writes(BUDGET.writes - 1);
    assert!(!world.lease.must_yield());
    world.lease.handle_writes(1);
    assert!(world.lease.must_yield());
    world.settle();
    assert!(!world.lease.must_yield());
    world.spend_all();
    assert_eq!(world.holders, [0, 1, 2]);
    world.leave(2);
    world.pass(Millis(60_000));
    assert_eq!(world.lease.owner(), None);
    assert_eq!(world.holders, [0, 1, 2]);
}

#[test]
fn the_budget_counts_over_all_terms_of_a_request() {
    let mut world = World::of(2);
    world.write(BUDGET.writes - 1);
    world.silent.push(0);
    world.pass(Millis(5_000));
    assert_eq!(world.holders, [0, 1]);
    world.silent = vec![1];
    world.pass(Millis(5_000));
    assert_eq!(world.holders, [0, 1, 0]);
    world.write(1);
    assert!(world.lease.owner().is_none());
}

#[test]
fn writes_without_an_owner_are_not_counted() {
    let mut world = World::of(2);
    world.lease.leave(0);
    world.lease.handle_writes(BUDGET.writes);
    world.settle();
    assert_eq!(world.lease.owner(), Some(1));
    assert!(!world.lease.must_yield());
}

#[test]
fn a_single_spent_member_keeps_the_socket() {
    let mut world = World::of(2);
    world.spend_all();
    world.leave(1);
    assert_eq!(world.lease.owner(), Some(0));
    world.now = Millis(5_000);
    world.write(BUDGET.writes);
    assert_eq!(world.lease.owner(), Some(0));
    assert_eq!(world.ended.len(), 1);
    assert_eq!(world.lease.poll_timeout_of(0), None);
}

#[test]
fn a_spent_member_appointed_while_alone_yields_to_others() {
    let mut world = World::of(2);
    world.spend_all();
    world.lease.leave(1);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Appoint(0)));
    world.lease.enter(2);
    assert_eq!(world.lease.take(0), None);
    assert!(world.lease.take(2).is_some());
}

#[test]
fn when_all_are_spent_one_in_eight_others_is_ended_every_five_seconds() {
    let mut world = World::of(17);
    world.spend_all();
    assert_eq!(world.lease.owner(), Some(16));
    assert_eq!(world.ended, [vec![0, 1, 2]]);
    world.now = Millis(4_999);
    world.settle();
    assert_eq!(world.ended.len(), 1);
    world.now = Millis(5_000);
    world.settle();
    assert_eq!(world.ended.len(), 2);
    world.lease.set_budget(Budget {
        end_share: 0,
        ..BUDGET
    });
    world.now = Millis(10_000);
    world.settle();
    assert_eq!(world.ended.last().map(Vec::len), Some(16));
}

#[test]
fn when_the_owner_leaves_spent_members_some_are_ended_at_once() {
    let mut world = World::of(3);
    world.spend_all();
    world.now = Millis(5_000);
    world.leave(2);
    assert_eq!(world.ended, [vec![0], vec![0]]);
}

#[test]
fn a_greater_budget_makes_requests_fresh_again() {
    let mut world = World::of(2);
    world.spend_all();
    world.lease.set_budget(Budget::default());
    world.leave(1);
    world.enter(2);
    assert_eq!(world.holders, [0, 1, 0]);
    assert!(!world.lease.must_yield());
}

#[test]
fn an_owner_that_is_oldest_is_not_ended() {
    let mut world = World::of(2);
    world.write(BUDGET.writes - 1);
    world.silent.push(0);
    world.pass(Millis(5_000));
    world.silent.clear();
    world.write(BUDGET.writes);
    assert_eq!(world.holders, [0, 1, 0]);
    world.write(1);
    assert_eq!(world.ended, [vec![1]]);
}

#[test]
fn a_fresh_member_takes_the_socket_from_a_spent_owner() {
    let mut world = World::of(3);
    world.spend_all();
    world.enter(3);
    assert!(world.lease.must_yield());
    world.settle();
    assert_eq!(world.lease.owner(), Some(3));
}

#[test]
fn an_owner_that_proves_that_it_runs_keeps_the_socket() {
    let mut world = World::of(3);
    world.pass(Millis(600_000));
    assert_eq!(world.holders, [0]);
}

#[test]
fn members_check_in_turns_a_second_apart_up_to_fifteen() {
    for (members, first) in [(3, 3_000), (15, 15_000), (40, 15_000)] {
        let mut world = World::of(members);
        let last = members - 1;
        assert_eq!(world.lease.poll_timeout_of(last), Some(Millis(first)));
        world.lease.handle_timeout_of(last, Millis(first), 0.5);
        assert_eq!(
            world.lease.poll_timeout_of(last),
            Some(Millis(first + 1_000))
        );
        assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Prove(Term(1))));
    }
}

#[test]
fn a_silent_owner_is_replaced_after_a_second() {
    let mut world = World::of(3);
    world.silent.push(0);
    world.pass(Millis(2_999));
    assert_eq!(world.holders, [0]);
    world.pass(Millis(1_001));
    assert_eq!(world.holders.len(), 2);
    assert!(world.lease.take_moved());
    // Its own timer is set too, to check later owners.
    assert!(world.lease.poll_timeout_of(0).is_some());
}

#[test]
fn a_late_proof_is_ignored() {
    let mut world = World::of(2);
    world.lease.handle_timeout_of(1, Millis(2_000), 0.5);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Prove(Term(1))));
    world.lease.handle_timeout_of(1, Millis(3_000), 0.5);
    let outputs = [(); 3].map(|()| world.lease.poll_output(NOW, 0.0));
    assert_eq!(outputs, [Some(Release(0)), Some(Appoint(1)), None]);
    world.take(1);
    // The previous owner runs again and proves it while the new one is asked.
    world.lease.handle_timeout_of(0, Millis(3_000), 0.5);
    world.lease.handle_timeout_of(0, Millis(5_000), 0.5);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Prove(Term(2))));
    world.lease.handle_proof(Term(1));
    world.lease.handle_timeout_of(0, Millis(6_000), 0.5);
    assert_eq!(world.lease.poll_output(NOW, 0.0), Some(Release(1)));
}

#[test]
fn an_appointed_member_that_does_not_take_the_socket_is_skipped() {
    let mut world = World::of(3);
    world.silent.push(1);
    world.leave(0);
    assert_eq!(world.lease.owner(), None);
    world.pass(Millis(4_000));
    assert_eq!(world.holders, [0, 2]);
}

#[test]
fn an_early_timer_does_nothing() {
    let mut world = World::of(2);
    world.lease.handle_timeout_of(1, Millis(1_999), 0.5);
    assert_eq!(world.lease.poll_timeout_of(1), Some(Millis(2_000)));
    world.lease.handle_timeout_of(1, Millis(2_000), 0.5);
    world.lease.handle_timeout_of(1, Millis(2_999), 0.5);
    assert_eq!(world.lease.poll_timeout_of(1), Some(Millis(3_000)));
}

#[test]
fn with_a_silent_owner_and_spent_members_some_are_ended() {
    let mut world = World::of(3);
    world.spend_all();
    world.silent.push(2);
    world.pass(Millis(4_000));
    // It is too early after the last end.
    assert_eq!(world.ended.len(), 1);
    world.pass(Millis(4_000));
    assert_eq!(world.ended.len(), 2);
    world.pass(Millis(60_000));
    assert_eq!(world.holders, [0, 1, 2]);
}

#[test]
fn with_a_silent_fresh_owner_and_spent_members_some_are_ended_after_three_checks() {
    let mut world = World::of(3);
    world.spend_all();
    let before = world.ended.len();
    world.enter(3);
    world.settle();
    world.silent.push(3);
    assert_eq!(world.lease.owner(), Some(3));
    // None is ended while another fresh member might take over.
    world.pass(Millis(9_000));
    assert_eq!(world.ended.len(), before);
    world.pass(Millis(12_000));
    assert!(world.ended.len() > before);
}

#[test]
fn members_that_come_and_go_keep_the_order_of_others() {
    let mut world = World::of(2);
    for id in 2..100 {
        world.enter(id);
        world.leave(id);
    }
    world.enter(100);
    world.spend_all();
    assert_eq!(world.holders, [0, 1, 100]);
    assert_eq!(world.ended, [vec![0]]);
}

#[test]
fn a_single_member_has_no_timer() {
    let world = World::of(1);
    assert_eq!(world.lease.poll_timeout_of(0), None);
    assert_eq!(world.lease.poll_timeout_of(1), None);
}

const NOW: Millis = Millis(0);
