use std::collections::BTreeMap;

use lists::{Map, Set};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

// The module is private, so this test compiles it again.
#[path = "../../src/sorted/mod.rs"]
#[allow(dead_code, reason = "the core uses the rest")]
mod lists;

#[test]
fn a_map_behaves_like_a_btree_map() {
    let mut random = 7_u32;
    let (mut map, mut tree) = (Map::new(), BTreeMap::new());
    for step in 0..20_000_u32 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let key = (random >> 16) % 3_000;
        // The map first grows beyond one run, and shrinks later.
        if random >> 29 < if step < 10_000 { 4 } else { 2 } {
            assert_eq!(map.insert(key, step), tree.insert(key, step));
        } else if random >> 29 == 7 {
            assert_eq!(map.get_mut(&key), tree.get_mut(&key));
        } else {
            assert_eq!(map.remove(&key), tree.remove(&key));
        }
        assert_eq!(map.get(&key), tree.get(&key));
        assert_eq!(map.key(&key), tree.contains_key(&key).then_some(&key));
        assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
        if step % 1_000 == 0 {
            assert!(map.iter().eq(tree.iter()));
        }
    }
    assert!(map.iter().eq(tree.iter()));
    map.retain(|key, _| key % 3 == 0);
    tree.retain(|key, _| key % 3 == 0);
    assert!(map.keys().eq(tree.keys()));
    assert!(map.insert(1, 1).is_none() && tree.insert(1, 1).is_none());
    let mut values: Vec<_> = map.values_mut().map(|value| *value).collect();
    let mut expected: Vec<_> = tree.values().copied().collect();
    values.sort_unstable();
    expected.sort_unstable();
    assert_eq!(values, expected);
    assert!(map.into_entries().eq(tree));
}

#[test]
fn a_default_is_inserted_once() {
    let mut map: Map<&str, Vec<u32>> = Map::new();
    for number in [1, 2] {
        map.or_default("a")
            .into_iter()
            .for_each(|list| list.push(number));
    }
    assert_eq!(map.get("a"), Some(&vec![1, 2]));
    map.clear();
    assert!(map.is_empty() && map.get("a").is_none());
}

#[test]
fn a_set_holds_each_key_once_and_in_order() {
    let mut set = Set::default();
    assert!([3, 1, 2].into_iter().all(|key| set.insert(key)));
    assert!(!set.insert(2));
    assert!(set.remove(&1) && !set.remove(&1));
    assert!(set.contains(&3) && !set.contains(&1));
    assert_eq!(set.len(), 2);
    assert!(set.into_keys().eq([2, 3]));
}
