//! When a subscription that has ended is opened again, whatever carries it.

use mcp_listen::{
    client::{End, Loss, Refusal, Renewal},
    clock::Millis,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const LOST: End = End::Lost(Loss::Disconnected);

fn refused(status: u16, code: Option<i32>) -> End {
    End::Refused(Refusal {
        status,
        code,
        text: String::new(),
    })
}

#[test]
fn waits_grow_up_to_half_a_minute_and_begin_anew_after_one() {
    let mut longest = [Millis(0); 9];
    for seed in 0..300 {
        let mut renewal = Renewal::new(seed);
        for most in &mut longest {
            let wait = renewal.handle_end(&LOST, None, Millis(0)).unwrap();
            *most = (*most).max(wait);
        }
        renewal.handle_live(false, Millis(0));
        let again = renewal.handle_end(&LOST, None, Millis(30_000)).unwrap();
        assert!(again <= Millis(30_500), "{again:?}");
    }
    let ceilings = [
        500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ];
    for (most, ceiling) in longest.into_iter().zip(ceilings) {
        assert!(
            most <= Millis(ceiling) && most > Millis(ceiling * 9 / 10),
            "{most:?} {ceiling}"
        );
    }
}

#[test]
fn what_the_server_asks_for_is_waited_out_first() {
    let mut renewal = Renewal::new(1);
    let end = refused(429, None);
    let until = renewal.handle_end(&end, Some(Millis(7_000)), Millis(1_000));
    assert!((Millis(8_000)..=Millis(8_500)).contains(&until.unwrap()));
}

#[test]
fn it_is_over_where_the_same_request_would_end_the_same_way() {
    for end in [
        refused(401, None),
        refused(403, None),
        refused(404, Some(-32_601)),
        End::Lost(Loss::Redirected),
    ] {
        assert_eq!(Renewal::new(1).handle_end(&end, None, Millis(0)), None);
    }
    let mut renewal = Renewal::new(1);
    assert!(!renewal.handle_live(true, Millis(0)));
    assert_eq!(renewal.handle_end(&End::Graceful, None, Millis(0)), None);
    let mut renewal = Renewal::new(1);
    assert!(!renewal.handle_live(false, Millis(0)));
    assert!(
        renewal
            .handle_end(&End::Graceful, None, Millis(0))
            .is_some()
    );
    assert!(renewal.handle_live(false, Millis(0)), "it was open before");
}
