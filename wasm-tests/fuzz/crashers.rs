//! Inputs that once broke something, each in a file named for what it broke.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
};

/// Returns the crashers of a target, ordered by name.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = entries(&folder().join(target))
        .into_iter()
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

/// Returns the targets that have crashers.
pub fn folders() -> Vec<String> {
    entries(&folder()).iter().map(|path| name(path)).collect()
}

/// Stores another crasher, and returns its path.
pub fn keep(target: &str, bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let folder = folder().join(target);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("unnamed-{:016x}", hasher.finish()));
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// A crate from a registry may have none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |entries| entries.map(|entry| entry.unwrap().path()).collect(),
    )
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("wasm-tests/fuzz/crashers")
}
