//! The cursor of a renewal.

use mcp_listen::events::webhook::SubscribeRequest;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::rig::{Rig, subscribe};

/// Begins with an occurrence that was delivered.
fn delivered() -> Rig {
    let mut rig = Rig::new();
    rig.begin(&subscribe(1));
    rig.publish("order.paid", "{}");
    rig.respond_all(200);
    rig
}

fn renewing(cursor: String) -> SubscribeRequest {
    SubscribeRequest {
        cursor: Some(cursor.into()),
        ..subscribe(1)
    }
}

#[test]
fn a_renewal_skips_nothing_that_is_not_in_the_log_yet() {
    for is_restarted in [false, true] {
        let mut rig = delivered();
        if is_restarted {
            rig.restart();
        }
        let result = rig.subscribe(&renewing(rig.cursor(1 << 52))).unwrap();
        assert!(result.contains(&rig.cursor(1)), "{result}");
        rig.pass(1_000);
        rig.publish("order.paid", "{}");
        assert_eq!(&*rig.post().message, "evt_e1_2");
    }
}

#[test]
fn a_renewal_after_a_restart_skips_what_the_client_has() {
    let mut rig = delivered();
    rig.append("order.paid", "{}", "");
    rig.restart();
    let result = rig.subscribe(&renewing(rig.cursor(2))).unwrap();
    assert!(result.contains(&rig.cursor(2)), "{result}");
}

#[test]
fn a_renewal_that_is_ahead_skips_nothing_if_the_bus_is_away() {
    let mut rig = delivered();
    rig.append("order.paid", "{}", "");
    rig.is_bus_away = true;
    let result = rig.subscribe(&renewing(rig.cursor(2))).unwrap();
    assert!(result.contains(&rig.cursor(1)), "{result}");
}
