#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    answer::{attached_before, went_on},
    shard::{NOW, PROMPTS, TOOLS, attach, batch, followed, sent, shard},
};

/// What was published before a key was followed was not sent here, even where it lies after the mark.
#[test]
fn a_key_that_was_added_while_a_batch_was_owed_is_whole_only_from_there_on() {
    let mut shard = shard();
    attach(&mut shard, PROMPTS, Some(7));
    let call = shard.poll_call(NOW).unwrap();
    // The root owes a batch up to 9, which has failed; a change of the prompts at 8 is not in it.
    followed(&mut shard, &call, r#""position":9,"after":9,"events":[]"#);
    assert_eq!(sent(&mut shard), [(1, attached_before(9, 9, "7"))]);
    attach(&mut shard, PROMPTS, Some(7));
    assert_eq!(sent(&mut shard), []);
    assert!(shard.poll_call(NOW).unwrap().text.contains(r#""since":7"#));
    batch(&mut shard, r#""previous":7,"through":9,"events":[]"#);
    attach(&mut shard, TOOLS, Some(9));
    assert_eq!(sent(&mut shard), [(3, went_on(9, 9))]);
}
