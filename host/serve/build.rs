//! Lists the files of the page, so that the program contains them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=page");
    let folder = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it")).join("page");
    let entries = fs::read_dir(&folder).expect("the folder of the page is there");
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    names.retain(|path| path.is_file());
    names.sort();
    let mut code = String::from("&[\n");
    for path in names {
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8");
        // The path is that of the sources that are compiled, which another build may share this list with.
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/page/{name}\")");
        writeln!(code, "    ({name:?}, include_bytes!({path})),").expect("a string takes it");
    }
    code.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    fs::write(out.join("page.rs"), code).expect("the folder of outputs can be written");
}
