//! The header, and programs in C that use it.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

// Cargo builds the libraries for C beside the one that is named here.
use warpath_c as _;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const LINES: &str = "{\"id\":1,\"lang\":\"nl\",\"n\":1}\n{\"id\":2,\"lang\":\"en\",\"n\":2.5,\"tags\":[\"a\",\"b\"]}\n\
                     {\"id\":3,\"lang\":\"fi\",\"n\":3e2}\n{\"id\":\"4\",\"n\":1e400}\n";

/// The checked-in header is the one that cbindgen makes. To renew it, run this test with `RENEW=1`.
#[test]
fn the_header_is_that_of_the_sources() -> Result<()> {
    let config = cbindgen::Config::from_file(Path::new(ROOT).join("cbindgen.toml"))?;
    let mut made = Vec::new();
    cbindgen::Builder::new().with_crate(ROOT).with_config(config).generate()?.write(&mut made);
    let header = Path::new(ROOT).join("include/warpath.h");
    if env::var_os("RENEW").is_some() {
        fs::write(&header, &made)?;
    }
    assert!(fs::read(&header)? == made, "include/warpath.h is not that of the sources; run with RENEW=1");
    Ok(())
}

/// Compiles a program with the static library, and runs it in a folder.
fn run(source: &Path, folder: &Path, flags: &[&str], argument: &Path) -> Result<Output> {
    let library = library()?;
    let program = folder.join("program");
    let cc = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut compiler = Command::new(cc);
    compiler
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"])
        .arg(format!("-DVERSION=\"{}\"", env!("CARGO_PKG_VERSION")))
        .args(flags)
        .arg("-I")
        .arg(Path::new(ROOT).join("include"))
        .arg(source)
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    let compiled = compiler.output()?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Ok(Command::new(program).arg(argument).current_dir(folder).output()?)
}

/// The static library that was built with this test.
fn library() -> Result<PathBuf> {
    let folder = env::current_exe()?;
    let folder = folder.parent().ok_or("a program has a folder")?;
    let found = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libwarpath_c") && name.ends_with(".a")
    });
    // An older build may have left another one.
    let newest = found.max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok());
    newest.ok_or_else(|| format!("no libwarpath_c.a in {}", folder.display()).into())
}

/// Runs `check.c`, which calls every function. AddressSanitizer finds what is used after it was freed, freed
/// twice, or never freed, on both sides of the border: it replaces the allocator of both.
#[cfg(target_os = "linux")]
#[test]
fn a_program_in_c_uses_all_functions() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let lines = folder.path().join("lines.ndjson");
    fs::write(&lines, LINES)?;
    fs::write(folder.path().join("other.ndjson"), "{\"id\":7,\"n\":1}\n{\"id\":8,\"n\":1e999}\n")?;
    let source = Path::new(ROOT).join("tests/check.c");
    let ran = run(&source, folder.path(), &["-fsanitize=address,undefined"], &lines)?;
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.ends_with(" checks\n"), "{out}{errors}");
    assert_eq!(errors, "");
    Ok(())
}

/// The example of the documentation compiles, and prints what the documentation says.
#[test]
fn the_example_of_the_documentation_runs() -> Result<()> {
    let page = fs::read_to_string(Path::new(ROOT).join("../../docs/c.md"))?;
    let block = |fence: &str| -> Result<&str> {
        let start = page.find(fence).ok_or_else(|| format!("docs/c.md has no block {fence}"))? + fence.len();
        let text = &page[start..];
        Ok(&text[..text.find("```").ok_or("the block does not end")?])
    };
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("tweets.ndjson"), block("```json\n")?)?;
    let source = folder.path().join("example.c");
    fs::write(&source, block("```c\n")?)?;
    let ran = run(&source, folder.path(), &[], Path::new("tweets.ndjson"))?;
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), block("```text\n")?);
    assert!(ran.status.success());
    Ok(())
}
