//! `wasm-bindings MODULE FOLDER NAME`: does what `wasm-bindgen --target web` does, with the options
//! that the build needs, and without the libraries of its command line. The module exports only
//! what the bindings use.

use anyhow::{Result, bail};
use wasm_bindgen_cli_support::{Bindgen, Output};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => println!("wasm-bindings {}", env!("CARGO_PKG_VERSION")),
        [module, folder, name] => write_bindings(module, folder, name)?,
        _ => bail!("usage: wasm-bindings MODULE FOLDER NAME"),
    }
    Ok(())
}

fn write_bindings(module: &str, folder: &str, name: &str) -> Result<()> {
    let mut output = Bindgen::new()
        .web(true)?
        .input_path(module)
        .out_name(name)
        .typescript(true)
        // With one, bundlers would take the module along for users who load it in another way.
        .omit_default_module_path(true)
        .reset_state_function(true)
        .generate_output()?;
    remove_unused_exports(&mut output);
    output.emit(folder)
}

/// Removes the exports of wasm-bindgen's runtime that the bindings of this module do not use.
fn remove_unused_exports(output: &mut Output) {
    let script = output.js().to_owned();
    let exports = &mut output.wasm_mut().exports;
    let unused: Vec<_> = exports
        .iter()
        .filter(|export| !script.contains(&format!("wasm.{}", export.name)))
        .map(|export| export.id())
        .collect();
    for export in unused {
        exports.delete(export);
    }
}
