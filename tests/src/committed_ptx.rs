//! Checks that committed PTX is the build of the sources, and that it has the interface that the host
//! expects.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cuda_builder::{Arch, Header, KernelCrate, Report, parse_header, source_hash};

/// The folder of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The modules of kernels.
fn modules(kernels: &'static [(&'static str, &'static str)]) -> Vec<&'static str> {
    let mut modules: Vec<&str> = kernels.iter().map(|(_, module)| *module).collect();
    modules.sort_unstable();
    modules.dedup();
    modules
}

/// Each committed file of a folder: its name, its text and its header.
fn files(
    folder: &str,
    kernels: &'static [(&'static str, &'static str)],
) -> Result<Vec<(String, String, Header)>> {
    let read = |(arch, module): (&Arch, &str)| {
        let name = format!("{module}.{arch}.ptx");
        let file = root().join(folder).join(&name);
        let text = fs::read_to_string(file).with_context(|| name.clone())?;
        let header = parse_header(&text).with_context(|| format!("{name} has no header"))?;
        Ok((name, text, header))
    };
    let of_arch = |arch| modules(kernels).into_iter().map(move |module| (arch, module));
    Arch::COMMITTED.iter().flat_map(of_arch).map(read).collect()
}

/// The committed files of a crate: the name, the text and the header of each.
///
/// # Errors
/// A file that cannot be read, or that has no header.
pub fn committed(of: KernelCrate) -> Result<Vec<(String, String, Header)>> {
    let mut all = Vec::new();
    for (folder, kernels) in of.folders {
        all.extend(files(folder, kernels)?);
    }
    Ok(all)
}

/// Checks that the PTX was made from the sources. `mend` says what to run if it was not.
///
/// # Errors
/// A file that was made from others.
pub fn made_from_these_sources(of: KernelCrate, mend: &str) -> Result<()> {
    let sources = source_hash(&root(), of.path)?;
    for (name, _, header) in committed(of)? {
        ensure!(
            header.sources == sources,
            "{name} was made from {}: the sources changed: run {mend}",
            header.sources
        );
    }
    Ok(())
}

/// Checks that the folders hold the modules of the committed architectures and nothing else.
///
/// # Errors
/// A folder with other files.
pub fn nothing_else(of: KernelCrate) -> Result<()> {
    for (folder, kernels) in of.folders {
        let mut found = Vec::new();
        for entry in fs::read_dir(root().join(folder))? {
            found.push(entry?.file_name().to_string_lossy().into_owned());
        }
        found.sort();
        let mut want: Vec<String> = files(folder, kernels)?.into_iter().map(|(name, ..)| name).collect();
        want.sort();
        ensure!(found == want, "{folder} has {found:?}, not {want:?}");
    }
    Ok(())
}

/// Checks that each entry has a kernel and each kernel an entry.
///
/// # Errors
/// A module with other entries.
pub fn entries_are_kernels(of: KernelCrate) -> Result<()> {
    for (name, text, header) in committed(of)? {
        let module = header.module.with_context(|| format!("{name} names no module"))?;
        let kernels = of.folders.iter().flat_map(|(_, kernels)| *kernels);
        let mut want: Vec<&str> =
            kernels.filter(|(_, of)| *of == module).map(|(kernel, _)| *kernel).collect();
        want.sort_unstable();
        let mut report = Report::read(&text);
        report.expect_entries(&want);
        ensure!(report.violations.is_empty(), "{name}: {:?}", report.violations);
        let mut entries: Vec<&str> = report.entries.iter().map(|entry| entry.name.as_str()).collect();
        entries.sort_unstable();
        ensure!(entries == want, "{name} has {entries:?}, not {want:?}");
    }
    Ok(())
}

/// Checks that the pinned compiler made the PTX, and that each file is what its header says.
///
/// # Errors
/// A file by another compiler, or with another header.
pub fn made_by_the_pinned_compiler(of: KernelCrate) -> Result<()> {
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml"))?;
    let channel = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"'))
        .context("rust-toolchain.toml names no channel")?;
    for (name, text, header) in committed(of)? {
        let version = header.compiler.split(' ').nth(1);
        ensure!(version == Some(channel), "{name} was made by {}, not {channel}", header.compiler);
        // What the header says is what the text is for.
        let module = header.module.unwrap_or_default();
        ensure!(
            name == format!("{module}.{}.ptx", header.target),
            "{name} is {module} for {}",
            header.target
        );
        ensure!(text.contains(&format!("\n.target {}", header.target)), "{name} has another .target");
    }
    Ok(())
}
