//! Runs the compiler.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::split::{SplitError, split};
use crate::{Arch, CudaBuilderError, Header, Report, bounds, sources};

/// The flags for every crate of the build, `core` included, besides the architecture and the remapped paths.
///
/// * A panic becomes a trap at its position: no message, no formatting code, no call.
/// * Every function may be compiled into the crate that calls it, because no linker runs afterwards.
/// * No call-site splitting. rustc marks intrinsics convergent, but not the functions that call them. Before
///   LLVM inlines such a function, call-site splitting would copy the call, and the barrier before it, into
///   both arms of a branch on the lane. Each arm would then wait for lanes that wait in the other arm. This
///   happened on an H200, where the kernel hung.
pub(crate) const CODEGEN_FLAGS: &[&str] = &[
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Zcross-crate-inline-threshold=always",
    "-Cllvm-args=-callsite-splitting-duplication-threshold=0",
];

/// The release profile, which overrides the manifests and the user's configuration.
const PROFILE: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "none"),
    ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false"),
];

/// Environment variables that would change the compiler's settings despite the ones above.
const FOREIGN: &[&str] = &["CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_INCREMENTAL", "RUSTFLAGS"];

const TARGET: &str = "nvptx64-nvidia-cuda";

/// Compiles a kernel crate to PTX.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    arch: Arch,
    copy_to: Option<PathBuf>,
    expected: Option<Vec<String>>,
    build_args: Vec<String>,
    target_dir: Option<PathBuf>,
    project: Option<(PathBuf, String)>,
}

/// PTX that obeys the rules, and its origin.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ptx {
    /// The file: the path given to [`CudaBuilder::copy_to`], else one in the build's own folder.
    pub path: PathBuf,
    /// The contents of the file, the header included.
    pub text: String,
    /// The header.
    pub header: Header,
    /// The kernels and functions that the PTX defines. No rule is broken, otherwise the build returns an
    /// error.
    pub report: Report,
}

impl Ptx {
    /// Splits the PTX into modules that can each be loaded alone. A module is given by its name and the names
    /// of its kernels. Returns one text per module, in the order of `modules`. The modules together must
    /// contain all kernels. Nothing is written; [`path`](Self::path) stays that of the whole PTX.
    ///
    /// # Errors
    /// [`SplitError`] if modules and kernels do not agree.
    pub fn split(&self, modules: &[(&str, Vec<&str>)]) -> Result<Vec<Self>, SplitError> {
        let body = &self.text[self.header.to_string().len()..];
        let part = |((module, _), body): (&(&str, _), String)| {
            let header = Header { module: Some((*module).to_owned()), ..self.header.clone() };
            let text = format!("{header}{body}");
            Self { path: self.path.clone(), report: Report::read(&text), text, header }
        };
        Ok(modules.iter().zip(split(body, modules)?).map(part).collect())
    }

    /// Writes the text to a file. No reader ever sees a part of the text.
    ///
    /// # Errors
    /// [`CudaBuilderError::FailedToCopyPtxFile`].
    pub fn write_to(&self, path: &Path) -> Result<(), CudaBuilderError> {
        let failed = |source| CudaBuilderError::FailedToCopyPtxFile { path: path.to_owned(), source };
        replace(path, &self.text).map_err(failed)
    }
}

impl CudaBuilder {
    /// A builder for the crate whose `Cargo.toml` is in the folder `path_to_crate`.
    pub fn new(path_to_crate: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate.as_ref().to_owned(),
            arch: Arch::default(),
            copy_to: None,
            expected: None,
            build_args: Vec::new(),
            target_dir: None,
            project: None,
        }
    }

    /// Sets the architecture to compile for. Default [`Arch::Sm75`].
    #[must_use]
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// Writes the PTX also to `path`, after the checks succeed.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the names of all expected kernels. A missing kernel, or one that is not in `names`, is an error.
    #[must_use]
    pub fn expect_entries<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.expected = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Adds arguments for cargo, such as `--features x` or `--offline`.
    #[must_use]
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets the folder to compile in. Default: `ptx` in the target folder of the crate's workspace. Each
    /// architecture has its own folder in it.
    #[must_use]
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Says that the crate is at `path` in the repository at `root`. The header's hash is then that of
    /// [`source_hash`](crate::source_hash). Default: the hash of the crate alone.
    #[must_use]
    pub fn project(mut self, root: impl AsRef<Path>, path: &str) -> Self {
        self.project = Some((root.as_ref().to_owned(), path.to_owned()));
        self
    }

    /// Compiles and checks, and returns the path of the PTX: the one given to [`copy_to`](Self::copy_to), if
    /// any.
    ///
    /// # Errors
    ///
    /// The errors of [`compile`](Self::compile).
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        Ok(self.compile()?.path)
    }

    /// Compiles and checks. The compiler's messages go to standard error.
    ///
    /// # Errors
    ///
    /// [`CudaBuilderError`], if the toolchain is not complete, the crate does not compile, or its PTX breaks
    /// a rule (see [`Violation`](crate::Violation)).
    pub fn compile(self) -> Result<Ptx, CudaBuilderError> {
        let no_crate = |_| CudaBuilderError::CratePathDoesntExist(self.path_to_crate.clone());
        let crate_dir = fs::canonicalize(&self.path_to_crate).map_err(no_crate)?;
        if !crate_dir.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(crate_dir));
        }
        let tools = Tools::find(&crate_dir)?;
        let workspace = tools.workspace_root(&crate_dir)?;
        // Paths of the repository are the same on all machines.
        let root = match &self.project {
            Some((root, _)) => fs::canonicalize(root).map_err(CudaBuilderError::Sources)?,
            None => workspace.clone(),
        };
        let target_dir = match &self.target_dir {
            Some(dir) => absolute(dir),
            None => absolute(&target_dir_of(&workspace)).join("ptx"),
        };
        // Each architecture has its own folder. With one folder for all, `core` would be compiled again at
        // every change of the architecture.
        let target_dir = target_dir.join(self.arch.name());

        // The hash is taken before the compiler reads the sources. If they are edited meanwhile, the hash
        // shows that the PTX is stale.
        let sources = match &self.project {
            Some((_, path)) => sources::source_hash(&root, path),
            None => sources::hash(&crate_dir, &["."]),
        };
        let sources = sources.map_err(CudaBuilderError::Sources)?;
        let made = self.run_cargo(&tools, &crate_dir, &root, &target_dir)?;
        let copy_error = |path: &Path| {
            let path = path.to_owned();
            |source| CudaBuilderError::FailedToCopyPtxFile { path, source }
        };
        let body = fs::read_to_string(&made).map_err(copy_error(&made))?;
        let body = bounds::apply(&body).map_err(CudaBuilderError::LaunchBounds)?;
        let header = Header {
            generator: concat!("cuda_builder ", env!("CARGO_PKG_VERSION")).to_owned(),
            compiler: tools.version.clone(),
            target: self.arch.to_string(),
            sources,
            module: None,
        };
        let text = format!("{header}{body}");

        let path = made.with_extension("ptx");
        fs::write(&path, &text).map_err(copy_error(&path))?;
        let mut report = Report::read(&text);
        if let Some(expected) = &self.expected {
            report.expect_entries(expected);
        }
        let machine_paths = tools.machine_paths(&root).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        report.forbid_paths(&text, &machine_paths);
        if !report.violations.is_empty() {
            let violations = report.violations;
            return Err(CudaBuilderError::Refused { arch: self.arch, ptx: path, violations });
        }
        let path = match self.copy_to {
            Some(copy) => {
                replace(&copy, &text).map_err(copy_error(&copy))?;
                copy
            }
            None => path,
        };
        Ok(Ptx { path, text, header, report })
    }

    /// Compiles the crate and returns the path of the assembly file.
    fn run_cargo(
        &self,
        tools: &Tools,
        crate_dir: &Path,
        root: &Path,
        target_dir: &Path,
    ) -> Result<PathBuf, CudaBuilderError> {
        let mut flags: Vec<String> = CODEGEN_FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        flags.push(format!("-Ctarget-cpu={}", self.arch));
        // If several prefixes match, the compiler takes the last one. So outer folders come first.
        let mut paths = tools.machine_paths(root);
        paths.sort_by_key(|(path, _)| path.len());
        flags.extend(paths.iter().map(|(path, name)| format!("--remap-path-prefix={path}={name}")));

        let mut cargo = Command::new(&tools.cargo);
        cargo.current_dir(crate_dir);
        cargo.args(["rustc", "--release", "--lib", "--target", TARGET, "-Zbuild-std=core"]);
        cargo.arg("--message-format=json-render-diagnostics");
        cargo.arg("--target-dir").arg(target_dir);
        cargo.args(&self.build_args);
        // The output file's path must not be among the arguments, because cargo hashes them into the names of
        // symbols.
        cargo.args(["--", "--emit=asm"]);
        for name in FOREIGN {
            cargo.env_remove(name);
        }
        cargo.envs(PROFILE.iter().copied());
        cargo.env("RUSTC_BOOTSTRAP", "1");
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        let tool = || tools.cargo.to_string_lossy().into_owned();
        let output = cargo
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| CudaBuilderError::Tool { tool: tool(), source })?;
        if !output.status.success() {
            return Err(CudaBuilderError::BuildFailed(output.status));
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let metadata = library_metadata(&messages, &crate_dir.join("Cargo.toml"))
            .ok_or_else(|| CudaBuilderError::NoPtx("no library among cargo's artifacts".to_owned()))?;
        let assembly = assembly_beside(&metadata);
        assembly
            .filter(|path| path.is_file())
            .ok_or_else(|| CudaBuilderError::NoPtx(format!("no assembly file beside {}", metadata.display())))
    }
}

/// The programs that a build runs.
struct Tools {
    cargo: PathBuf,
    /// The output of `rustc --version`.
    version: String,
    sysroot: PathBuf,
}

impl Tools {
    fn find(crate_dir: &Path) -> Result<Self, CudaBuilderError> {
        // Cargo passes its own path and the compiler's to its children. Without these variables, the programs
        // on the search path are used.
        let tool = |variable, name: &str| env::var_os(variable).map_or_else(|| name.into(), PathBuf::from);
        let (cargo, rustc) = (tool("CARGO", "cargo"), tool("RUSTC", "rustc"));
        let version = output(&rustc, ["--version"], crate_dir)?;
        let sysroot = PathBuf::from(output(&rustc, ["--print", "sysroot"], crate_dir)?);
        let core = sysroot.join("lib/rustlib/src/rust/library/core");
        if !core.is_dir() {
            return Err(CudaBuilderError::NoRustSource(core));
        }
        Ok(Self { cargo, version, sysroot })
    }

    fn workspace_root(&self, crate_dir: &Path) -> Result<PathBuf, CudaBuilderError> {
        let args = ["locate-project", "--workspace", "--message-format=plain"];
        let manifest = PathBuf::from(output(&self.cargo, args, crate_dir)?);
        Ok(manifest.parent().unwrap_or(crate_dir).to_owned())
    }

    /// The folders of this machine whose files the compiler reads, and the names that replace them in the
    /// PTX.
    fn machine_paths(&self, root: &Path) -> Vec<(String, &'static str)> {
        let home = env::var_os("HOME").map(PathBuf::from);
        let cargo_home =
            env::var_os("CARGO_HOME").map(PathBuf::from).or(home.map(|home| home.join(".cargo")));
        let source = self.sysroot.join("lib/rustlib/src/rust");
        // If the folder is a link, the compiler names the files by their real path.
        let real_source = fs::canonicalize(&source).unwrap_or_else(|_| source.clone());
        let mut paths = vec![(root.to_owned(), "/warpath"), (source.clone(), "/rust")];
        paths.extend((real_source != source).then_some((real_source, "/rust")));
        paths.extend(cargo_home.map(|cargo_home| (cargo_home, "/cargo")));
        paths.into_iter().map(|(path, name)| (path.to_string_lossy().into_owned(), name)).collect()
    }
}

/// The output of a program, without the last newline.
fn output<const N: usize>(program: &Path, args: [&str; N], dir: &Path) -> Result<String, CudaBuilderError> {
    let tool = program.to_string_lossy();
    let run = Command::new(program).args(args).current_dir(dir).stdin(Stdio::null()).output();
    let run = run.map_err(|source| CudaBuilderError::Tool { tool: tool.to_string(), source })?;
    if !run.status.success() {
        return Err(CudaBuilderError::ToolFailed {
            tool: format!("{tool} {}", args.join(" ")),
            status: run.status,
            message: String::from_utf8_lossy(&run.stderr).trim_end().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&run.stdout).trim_end().to_owned())
}

/// The workspace's target folder: the one set in the environment, or the default. (A folder set in a
/// configuration file is not seen. The default works in this case too.)
fn target_dir_of(root: &Path) -> PathBuf {
    let chosen = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].into_iter().find_map(env::var_os);
    chosen.filter(|dir| !dir.is_empty()).map_or_else(|| root.join("target"), PathBuf::from)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Writes a file. No reader ever sees a part of the text.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    fs::write(&part, text)?;
    fs::rename(&part, path)
}

/// The `.rmeta` file of the library with this manifest, from cargo's JSON messages. The file's name contains
/// a hash, which separates this build's files from those of earlier builds.
fn library_metadata(messages: &str, manifest: &Path) -> Option<PathBuf> {
    let artifact = messages.lines().find(|message| {
        let is_artifact = message.starts_with(r#"{"reason":"compiler-artifact""#);
        is_artifact
            && string_after(message, r#""manifest_path":"#).is_some_and(|path| Path::new(&path) == manifest)
    })?;
    let mut files = artifact.split_once(r#""filenames":["#)?.1;
    while files.starts_with('"') {
        let (file, rest) = json_string(files)?;
        if file.ends_with(".rmeta") {
            return Some(PathBuf::from(file));
        }
        files = rest.trim_start_matches(',');
    }
    None
}

/// `deps/libname-hash.rmeta` → `deps/name-hash.s`.
fn assembly_beside(metadata: &Path) -> Option<PathBuf> {
    let stem = metadata.file_stem().and_then(OsStr::to_str)?;
    let name = stem.strip_prefix("lib")?;
    Some(metadata.with_file_name(format!("{name}.s")))
}

fn string_after(json: &str, key: &str) -> Option<String> {
    Some(json_string(json.split_once(key)?.1)?.0)
}

/// The JSON string that `json` starts with, and the text after it. In paths, only `"` and `\` are escaped.
fn json_string(json: &str) -> Option<(String, &str)> {
    let body = json.strip_prefix('"')?;
    let mut text = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((text, &body[at + 1..])),
            '\\' => text.push(chars.next()?.1),
            _ => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"build-script-executed","manifest_path":"/w/gpu/Cargo.toml"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/shared/Cargo.toml","filenames":["/t/deps/libwarpath_shared-0a.rmeta"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/gpu/Cargo.toml","filenames":["/t/lib\"x\\y.rlib","/t/deps/libwarpath_gpu-fd0e.rmeta"],"fresh":true}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let found = library_metadata(messages, Path::new("/w/gpu/Cargo.toml")).unwrap();
        assert_eq!(found, Path::new("/t/deps/libwarpath_gpu-fd0e.rmeta"));
        assert_eq!(assembly_beside(&found).unwrap(), Path::new("/t/deps/warpath_gpu-fd0e.s"));
        assert_eq!(library_metadata(messages, Path::new("/w/host/Cargo.toml")), None);
        assert_eq!(library_metadata("", Path::new("/w/gpu/Cargo.toml")), None);
    }

    #[test]
    fn a_crate_that_is_not_there_is_named() {
        let error = CudaBuilder::new("no/such/crate").build().unwrap_err();
        assert_eq!(error.to_string(), "no kernel crate at no/such/crate: it has no Cargo.toml");
    }
}
