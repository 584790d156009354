//! Checks that the committed PTX is the build of the sources, and that it has the interface that the host
//! expects.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cuda_builder::{Arch, Header, Report, parse_header, source_hash};
use warpath_device::cuda::MODULES;
use warpath_shared::kernel::{KERNELS, RIVALS};

const MEND: &str = "the sources changed: run tests/ptx.sh build";

/// A folder of committed PTX, and the kernels that it has.
struct Folder {
    path: &'static str,
    kernels: &'static [(&'static str, &'static str)],
}

const FOLDERS: [Folder; 2] = [
    Folder { path: "host/device/ptx", kernels: KERNELS },
    Folder { path: "benches/rivals/ptx", kernels: RIVALS },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Folder {
    /// The modules that the kernels are in.
    fn modules(&self) -> Vec<&'static str> {
        let mut modules: Vec<&str> = self.kernels.iter().map(|(_, module)| *module).collect();
        modules.sort_unstable();
        modules.dedup();
        modules
    }

    /// Each committed file: its name, its text and its header.
    fn committed(&self) -> Result<Vec<(String, String, Header)>> {
        let read = |(arch, module): (&Arch, &str)| {
            let name = format!("{module}.{arch}.ptx");
            let file = root().join(self.path).join(&name);
            let text = fs::read_to_string(file).with_context(|| name.clone())?;
            let header = parse_header(&text).with_context(|| format!("{name} has no header"))?;
            Ok((name, text, header))
        };
        let of_arch = |arch| self.modules().into_iter().map(move |module| (arch, module));
        Arch::COMMITTED.iter().flat_map(of_arch).map(read).collect()
    }
}

/// The files of both folders.
fn committed() -> Result<Vec<(String, String, Header)>> {
    let [product, rivals] = &FOLDERS;
    Ok([product.committed()?, rivals.committed()?].concat())
}

#[test]
fn the_committed_ptx_was_made_from_these_sources() -> Result<()> {
    let sources = source_hash(&root())?;
    for (name, _, header) in committed()? {
        ensure!(header.sources == sources, "{name} was made from {}: {MEND}", header.sources);
    }
    Ok(())
}

#[test]
fn the_folders_hold_the_modules_of_the_committed_architectures_and_nothing_else() -> Result<()> {
    for folder in FOLDERS {
        let mut found = Vec::new();
        for entry in fs::read_dir(root().join(folder.path))? {
            found.push(entry?.file_name().to_string_lossy().into_owned());
        }
        found.sort();
        let mut want: Vec<String> = folder.committed()?.into_iter().map(|(name, ..)| name).collect();
        want.sort();
        assert_eq!(found, want);
    }
    Ok(())
}

#[test]
fn the_product_has_no_kernel_of_a_rival() {
    let product: HashSet<&str> = KERNELS.iter().flat_map(|(kernel, module)| [*kernel, *module]).collect();
    for (kernel, module) in RIVALS {
        assert!(!product.contains(kernel) && !product.contains(module), "{kernel}, {module}");
        for embedded in MODULES {
            assert!(!embedded.ptx.contains(&format!(".entry {kernel}(")), "{kernel} in {}", embedded.name);
        }
    }
}

#[test]
fn every_entry_has_a_kernel_and_every_kernel_an_entry() -> Result<()> {
    for (name, text, header) in committed()? {
        let module = header.module.with_context(|| format!("{name} names no module"))?;
        let of_module = KERNELS.iter().chain(RIVALS).filter(|(_, of)| *of == module);
        let mut want: Vec<&str> = of_module.map(|(kernel, _)| *kernel).collect();
        want.sort_unstable();
        let mut report = Report::read(&text);
        report.expect_entries(&want);
        ensure!(report.violations.is_empty(), "{name}: {:?}", report.violations);
        let mut entries: Vec<&str> = report.entries.iter().map(|entry| entry.name.as_str()).collect();
        entries.sort_unstable();
        assert_eq!(entries, want, "{name}");
    }
    Ok(())
}

#[test]
fn the_compiler_is_the_pinned_one() -> Result<()> {
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml"))?;
    let channel = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"'))
        .context("rust-toolchain.toml names no channel")?;
    for (name, text, header) in committed()? {
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

/// Checks the number of collectives in each kernel against its source: a warp scan of 64-bit parts takes ten
/// shuffles a part, and so on.
///
/// A compiler may copy a collective into both arms of a branch. It then waits for lanes that wait in the
/// other arm, and the card hangs. The emulator cannot show this, because it runs the output of another code
/// generator for the same source. A change to a kernel needs a change to its row, after a look at the PTX.
#[test]
fn no_collective_is_duplicated() {
    // Kernel, shuffles, barriers, votes.
    const COLLECTIVES: [(&str, usize, usize, usize); 29] = [
        ("line_states", 10, 0, 6),
        ("line_scan", 68, 3, 2),
        ("structure_write", 33, 0, 16),
        ("line_index", 44, 3, 2),
        ("kind_check", 34, 3, 2),
        ("odd_check", 0, 0, 0),
        ("count_scan", 34, 3, 2),
        ("slot_compact", 12, 3, 6),
        ("query_bounds", 0, 0, 0),
        ("text_scan", 34, 3, 2),
        ("text_gather", 0, 1, 1),
        ("record_compact", 12, 3, 6),
        ("record_rows", 0, 0, 0),
        ("list_offsets", 0, 0, 0),
        ("column_read", 14, 0, 10),
        ("column_gather", 0, 1, 1),
        ("column_finish", 0, 0, 5),
        ("tape_words", 23, 0, 0),
        ("tape_scan", 68, 3, 2),
        ("tape_lines", 0, 0, 0),
        ("tape_minima", 5, 0, 0),
        ("tape_pieces", 0, 0, 0),
        ("tape_nodes", 10, 0, 7),
        ("strict_check", 1, 0, 0),
        ("query_slots", 0, 0, 4),
        ("query_count", 0, 0, 9),
        ("query_fill", 0, 0, 9),
        ("query_slots_loose", 0, 2, 1),
        ("query_count_loose", 0, 2, 1),
    ];
    let ptx: String = committed().unwrap().into_iter().map(|(_, text, _)| text).collect();
    for (kernel, shuffles, barriers, votes) in COLLECTIVES {
        let start = ptx.find(&format!(".visible .entry {kernel}(")).expect("the entry");
        let body = &ptx[start..];
        let body = &body[..body.find("\n}").expect("its end")];
        let count = |what: &str| body.lines().filter(|line| line.contains(what)).count();
        let found = (count("shfl.sync"), count("bar.sync"), count("vote.sync"));
        assert_eq!(found, (shuffles, barriers, votes), "{kernel}");
    }
}
