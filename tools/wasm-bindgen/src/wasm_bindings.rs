//! `wasm-bindings MODULE FOLDER NAME`: does what `wasm-bindgen --target web` does, with the options
//! that the build needs, and without the libraries of its command line.

use anyhow::{Result, bail};
use wasm_bindgen_cli_support::Bindgen;

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
    Bindgen::new()
        .web(true)?
        .input_path(module)
        .out_name(name)
        .typescript(true)
        // With one, bundlers would take the module along for users who load it in another way.
        .omit_default_module_path(true)
        .reset_state_function(true)
        .generate(folder)
}
