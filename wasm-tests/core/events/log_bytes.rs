//! What a log with too many bytes removes.

use mcp_listen::events::Window;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::log::{Log, positions};

/// Occurrences so large that a tenth of the count limit exceeds the byte limit.
#[test]
fn most_of_the_log_remains_when_it_has_too_many_bytes() {
    let window = Window {
        bytes: 20_000,
        ..Window::default()
    };
    let mut log = Log::new(window);
    for published in 1..=200_u64 {
        let position = log.publish("a", &id_of_200_bytes(published)).position;
        let kept = log.occurrences.rows().positions();
        assert_eq!(kept.last(), Some(&position.0));
        assert!(kept.len() as u64 >= published.min(50), "{}", kept.len());
        assert!(kept.len() < 80, "{}", kept.len());
    }
}

#[test]
fn an_occurrence_over_the_byte_limit_is_kept_alone() {
    let window = Window {
        bytes: 100,
        ..Window::default()
    };
    let mut log = Log::new(window);
    for published in 1..=3 {
        log.publish("a", &id_of_200_bytes(published));
        assert_eq!(log.occurrences.rows().positions(), [published]);
    }
}

#[test]
fn the_name_with_the_most_bytes_is_trimmed_first() {
    let window = Window {
        bytes: 20_000,
        ..Window::default()
    };
    let mut log = Log::new(window);
    log.publish("quiet", "");
    for published in 1..=200 {
        log.publish("busy", &id_of_200_bytes(published));
    }
    assert!(!log.read("quiet", 0).trimmed && log.read("busy", 0).trimmed);
    assert_eq!(positions(&log.read("quiet", 0)), [1]);
}

fn id_of_200_bytes(number: u64) -> String {
    format!(r#","eventId":"{number:0200}""#)
}
