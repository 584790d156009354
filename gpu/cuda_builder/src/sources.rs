//! The hash that connects generated PTX with its sources.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// The hash of all files of the repository from which the PTX of the kernel crate at `path` is made:
/// `sha256:` and 64 hexadecimal digits.
///
/// The hash covers the path and the contents of `rust-toolchain.toml` and of each `*.rs` and `Cargo.toml`
/// under `gpu/`, `shared/` and `path`, in the order of their paths. Line endings count as `\n`, so a checkout
/// with other line endings has the same hash. The hash also covers the compiler flags of this builder. Some
/// files are left out, because no kernel depends on them:
///
/// * `gpu/cuda_builder`;
/// * folders named `tests`, `benches`, `examples`, `target`, or with a leading dot;
/// * in `gpu/cuda_std`, files and folders whose name starts with `emulator`: they are compiled only for the
///   host, so after an edit there the PTX is still valid.
///
/// # Errors
///
/// The first error of reading a folder or a file. `gpu`, `shared`, `rust-toolchain.toml` and `path` must
/// exist.
pub fn source_hash(root: &Path, path: &str) -> io::Result<String> {
    hash(root, &["gpu", "shared", "rust-toolchain.toml", path])
}

/// The hash of the files under `parts` (files or folders, relative to `root`, with `/`), by the rules of
/// [`source_hash`].
pub(crate) fn hash(root: &Path, parts: &[&str]) -> io::Result<String> {
    let mut files = BTreeMap::new();
    for part in parts {
        collect(root.join(part), part, &mut files)?;
    }
    let mut hasher = Sha256::new();
    // The length comes before the contents, so no two different lists of files give the same bytes.
    let mut add = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for flag in crate::builder::CODEGEN_FLAGS {
        add(flag.as_bytes());
    }
    for (name, path) in files {
        let contents = fs::read(&path).map_err(|error| with_path(&path, error))?;
        add(name.as_bytes());
        add(&unix_line_endings(&contents));
    }
    let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// Adds `path` if it is a file, else all of its files that belong to the sources, under their names relative
/// to the root.
fn collect(path: PathBuf, name: &str, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    if !fs::metadata(&path).map_err(|error| with_path(&path, error))?.is_dir() {
        files.insert(name.to_owned(), path);
        return Ok(());
    }
    for entry in fs::read_dir(&path).map_err(|error| with_path(&path, error))? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else { continue };
        let name = if name == "." { file_name.to_owned() } else { format!("{name}/{file_name}") };
        let is_dir = entry.file_type()?.is_dir();
        if counts(&name, file_name, is_dir) {
            collect(entry.path(), &name, files)?;
        }
    }
    Ok(())
}

/// Returns `true` if a file or a folder belongs to the sources. `name` is its path from the root.
fn counts(name: &str, file_name: &str, is_dir: bool) -> bool {
    if name.starts_with("gpu/cuda_std/") && file_name.starts_with("emulator") {
        return false;
    }
    if is_dir {
        let hidden = file_name.starts_with('.');
        let no_device_code = ["tests", "benches", "examples", "target"].contains(&file_name);
        !(hidden || no_device_code || name == "gpu/cuda_builder")
    } else {
        file_name == "Cargo.toml" || file_name.ends_with(".rs")
    }
}

/// `text` with each `\r\n` as `\n`.
fn unix_line_endings(text: &[u8]) -> Vec<u8> {
    let ends_with_return = |line: &[u8]| line.last() == Some(&b'\r');
    let mut lines = text.split(|&byte| byte == b'\n').peekable();
    let mut unix = Vec::with_capacity(text.len());
    while let Some(line) = lines.next() {
        if lines.peek().is_none() {
            unix.extend_from_slice(line);
        } else {
            unix.extend_from_slice(if ends_with_return(line) { &line[..line.len() - 1] } else { line });
            unix.push(b'\n');
        }
    }
    unix
}

fn with_path(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of files, which is removed on drop.
    struct Tree(PathBuf);

    impl Tree {
        fn new(test: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("cuda_builder-{}-{test}", std::process::id()));
            let tree = Self(root);
            files.iter().for_each(|(name, text)| tree.write(name, text));
            tree
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn hash(&self) -> String {
            source_hash(&self.0, "gpu").unwrap()
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            // A folder that cannot be removed must not fail a test.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const FILES: &[(&str, &str)] = &[
        ("rust-toolchain.toml", "[toolchain]\n"),
        ("gpu/Cargo.toml", "[package]\n"),
        ("gpu/src/lib.rs", "mod a;\nmod b;\n"),
        ("gpu/cuda_std/src/lib.rs", "// device\n"),
        ("shared/src/lib.rs", "// shared\n"),
    ];

    #[test]
    fn what_a_kernel_sees_changes_the_hash() {
        let tree = Tree::new("sees", FILES);
        let before = tree.hash();
        assert_eq!(before.len(), "sha256:".len() + 64);
        for (name, text) in FILES {
            tree.write(name, &format!("{text}// edited\n"));
            assert_ne!(tree.hash(), before, "{name}");
            tree.write(name, text);
            assert_eq!(tree.hash(), before, "{name}");
        }
        for name in ["gpu/src/kernel/new.rs", "gpu/cuda_std/macros/src/lib.rs", "shared/Cargo.toml"] {
            tree.write(name, "");
            assert_ne!(tree.hash(), before, "{name}");
            fs::remove_file(tree.0.join(name)).unwrap();
        }
    }

    #[test]
    fn what_no_kernel_sees_does_not() {
        let tree = Tree::new("unseen", FILES);
        let before = tree.hash();
        for name in [
            "host/device/ptx/index.sm_90.ptx",
            "gpu/cuda_builder/src/lib.rs",
            "gpu/cuda_std/src/emulator.rs",
            "gpu/cuda_std/src/emulator/fiber.rs",
            "gpu/tests/kernels.rs",
            "gpu/cuda_std/tests/emulator.rs",
            "shared/README.md",
            "shared/target/debug/build/out.rs",
            "host/src/lib.rs",
        ] {
            tree.write(name, "text");
            assert_eq!(tree.hash(), before, "{name}");
        }
    }

    #[test]
    fn a_kernel_crate_elsewhere_has_its_own_sources_too() {
        let tree = Tree::new("elsewhere", FILES);
        tree.write("benches/rivals/gpu/src/lib.rs", "mod a;\n");
        let (product, rivals) = (tree.hash(), source_hash(&tree.0, "benches/rivals/gpu").unwrap());
        assert_ne!(product, rivals);
        tree.write("benches/rivals/gpu/src/lib.rs", "mod b;\n");
        assert_eq!(tree.hash(), product);
        assert_ne!(source_hash(&tree.0, "benches/rivals/gpu").unwrap(), rivals);
    }

    #[test]
    fn moved_text_changes_the_hash() {
        let tree = Tree::new("moved", FILES);
        let before = tree.hash();
        tree.write("gpu/src/lib.rs", "mod a;\n");
        tree.write("gpu/src/mib.rs", "mod b;\n");
        assert_ne!(tree.hash(), before);
    }

    #[test]
    fn line_endings_do_not_change_the_hash() {
        let tree = Tree::new("crlf", FILES);
        let before = tree.hash();
        tree.write("gpu/src/lib.rs", "mod a;\r\nmod b;\r\n");
        assert_eq!(tree.hash(), before);
    }

    #[test]
    fn only_a_return_before_a_newline_goes() {
        assert_eq!(unix_line_endings(b"a\r\nb\n\r\n\rc\r"), b"a\nb\n\n\rc\r");
        assert_eq!(unix_line_endings(b""), b"");
    }

    #[test]
    fn a_missing_part_is_named() {
        let tree = Tree::new("missing", &FILES[1..]);
        let error = source_hash(&tree.0, "gpu").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("rust-toolchain.toml"), "{error}");
    }
}
