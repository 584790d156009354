//! The program that makes the PTX that the repository contains, or checks that it is the result of the
//! sources.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use crate::{Arch, CudaBuilder, Ptx, Report, parse_header};

const OPTIONS: &str = "\
build   compile the crate and write a file FOLDER/<module>.<arch>.ptx for each module
check   compile the crate and compare with what is there; exit status 1 if it differs
cubins  have NVIDIA's assembler make DIR/<module>.<arch>.cubin of the PTX that is there; print sizes and times

--arch   this architecture only; may be repeated (default: every one that the repository carries; sm_80, sm_90
         and sm_100 for cubins)
--root   the repository (default: the workspace around the current folder)
--ptxas  the assembler: tests/ptx.sh finds or fetches one
";

/// A kernel crate, and the committed files that are made from it.
#[derive(Clone, Copy, Debug)]
pub struct KernelCrate {
    /// The folder of the crate in the repository.
    pub path: &'static str,
    /// The folders of PTX, each with the names of its kernels and their modules.
    pub folders: &'static [(&'static str, &'static [(&'static str, &'static str)])],
}

/// The architectures for which cubins are made by default: those of data-centre cards.
const ASSEMBLED: &[Arch] = &[Arch::Sm80, Arch::Sm90, Arch::Sm100];

enum Mode {
    Build,
    Check,
    Cubins { ptxas: PathBuf, out: PathBuf },
}

struct Options {
    mode: Mode,
    arches: Vec<Arch>,
    root: PathBuf,
}

/// Runs the program with the arguments of this process. `program` is its name for the usage.
pub fn run(program: &str, of: KernelCrate) -> ExitCode {
    let usage = || {
        let folders: Vec<&str> = of.folders.iter().map(|(folder, _)| *folder).collect();
        format!(
            "usage: {program} build|check [--arch sm_XX]... [--root DIR]\n       \
             {program} cubins --ptxas PROGRAM --out DIR [--arch sm_XX]... [--root DIR]\n\n\
             The crate is {}. Its PTX is in {}.\n\n{OPTIONS}",
            of.path,
            folders.join(" and "),
        )
    };
    let options = match options(env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", usage());
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprint!("ptx: {message}\n\n{}", usage());
            return ExitCode::from(2);
        }
    };
    let mut good = true;
    for &arch in &options.arches {
        let done = match &options.mode {
            Mode::Build => of.build(&options.root, arch).map(|()| true),
            Mode::Check => of.check(&options.root, arch),
            Mode::Cubins { ptxas, out } => of.cubins(&options.root, arch, ptxas, out).map(|()| true),
        };
        match done {
            Ok(as_it_should_be) => good &= as_it_should_be,
            Err(message) => {
                eprintln!("ptx: {message}");
                return ExitCode::from(2);
            }
        }
    }
    if good {
        return ExitCode::SUCCESS;
    }
    eprintln!("ptx: run `{program} build` and commit the PTX");
    ExitCode::FAILURE
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut command = None;
    let mut arches = Vec::new();
    let (mut root, mut ptxas, mut out) = (None, None, None);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "-h" | "--help" => return Ok(None),
            "--arch" => arches.push(value()?.parse().map_err(|error| format!("{error}"))?),
            "--root" => root = Some(PathBuf::from(value()?)),
            "--ptxas" => ptxas = Some(PathBuf::from(value()?)),
            "--out" => out = Some(PathBuf::from(value()?)),
            "build" | "check" | "cubins" if command.is_none() => command = Some(arg),
            _ => return Err(format!("unexpected argument `{arg}`")),
        }
    }
    let (mode, usual) = match (command.as_deref().ok_or("say build, check or cubins")?, ptxas, out) {
        ("cubins", Some(ptxas), Some(out)) => (Mode::Cubins { ptxas, out }, ASSEMBLED),
        ("cubins", ..) => return Err("cubins needs --ptxas and --out".to_owned()),
        ("check", None, None) => (Mode::Check, Arch::COMMITTED),
        (_, None, None) => (Mode::Build, Arch::COMMITTED),
        _ => return Err("--ptxas and --out are for cubins".to_owned()),
    };
    if arches.is_empty() {
        arches = usual.to_vec();
    }
    let root = root.map_or_else(workspace_root, Ok)?;
    Ok(Some(Options { mode, arches, root }))
}

/// The workspace around the current folder.
fn workspace_root() -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["locate-project", "--workspace", "--message-format=plain"];
    let output =
        Command::new(cargo).args(args).output().map_err(|error| format!("cannot run cargo: {error}"))?;
    let manifest = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
    manifest.parent().map(Path::to_owned).ok_or_else(|| "the current folder is in no workspace".to_owned())
}

/// A group of kernels that are loaded together.
struct Module {
    folder: &'static str,
    name: &'static str,
    kernels: Vec<&'static str>,
}

impl Module {
    /// The path of its file in the workspace.
    fn file(&self, arch: Arch) -> String {
        format!("{}/{}.{arch}.ptx", self.folder, self.name)
    }
}

impl KernelCrate {
    /// All modules, in the order of their first kernels.
    fn modules(&self) -> Vec<Module> {
        let mut modules: Vec<Module> = Vec::new();
        for &(folder, kernels) in self.folders {
            for &(kernel, name) in kernels {
                match modules.iter_mut().find(|module| module.name == name) {
                    Some(module) => module.kernels.push(kernel),
                    None => modules.push(Module { folder, name, kernels: vec![kernel] }),
                }
            }
        }
        modules
    }

    /// Compiles the kernels, and returns each module with the path of its file.
    fn compile(&self, root: &Path, arch: Arch) -> Result<Vec<(String, Ptx)>, String> {
        let ptx = CudaBuilder::new(root.join(self.path))
            .project(root, self.path)
            .arch(arch)
            .compile()
            .map_err(|error| error.to_string())?;
        let modules = self.modules();
        let names: Vec<_> = modules.iter().map(|module| (module.name, module.kernels.clone())).collect();
        let parts = ptx.split(&names).map_err(|error| error.to_string())?;
        Ok(modules.iter().map(|module| module.file(arch)).zip(parts).collect())
    }

    /// The files of an architecture that belong to no module.
    fn left_over(&self, root: &Path, arch: Arch) -> Result<Vec<String>, String> {
        let modules: Vec<String> = self.modules().iter().map(|module| module.file(arch)).collect();
        let mut names = Vec::new();
        for (folder, _) in self.folders {
            let path = root.join(folder);
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            };
            for entry in entries {
                let entry = entry.map_err(|error| format!("{}: {error}", path.display()))?;
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if name.ends_with(&format!(".{arch}.ptx")) && !modules.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// Writes the files of an architecture, and removes those of modules that no longer exist.
    fn build(&self, root: &Path, arch: Arch) -> Result<(), String> {
        for (relative, ptx) in self.compile(root, arch)? {
            ptx.write_to(&root.join(&relative)).map_err(|error| error.to_string())?;
            println!("{relative}: {}", summary(&ptx));
            print!("{}", ptx.report);
        }
        for relative in self.left_over(root, arch)? {
            fs::remove_file(root.join(&relative)).map_err(|error| format!("{relative}: {error}"))?;
            println!("{relative}: of no module, removed");
        }
        Ok(())
    }

    /// Compares the files of an architecture with the PTX of the sources. Returns `true` if all are equal.
    fn check(&self, root: &Path, arch: Arch) -> Result<bool, String> {
        let mut good = true;
        for (relative, ptx) in self.compile(root, arch)? {
            match fs::read_to_string(root.join(&relative)) {
                Ok(old) if old == ptx.text => println!("{relative}: up to date, {}", summary(&ptx)),
                Ok(old) => {
                    good = false;
                    println!("{relative}: differs from what the sources give");
                    differences(&old, &ptx).iter().for_each(|difference| println!("  {difference}"));
                    println!("  built, all modules in one: {}", ptx.path.display());
                }
                Err(error) => {
                    good = false;
                    println!("{relative}: cannot be read: {error}");
                }
            }
        }
        for relative in self.left_over(root, arch)? {
            good = false;
            println!("{relative}: of no module");
        }
        Ok(good)
    }

    /// Assembles the existing PTX for an architecture, and prints the time and the size of each cubin.
    fn cubins(&self, root: &Path, arch: Arch, ptxas: &Path, out: &Path) -> Result<(), String> {
        fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
        // The newest PTX that the architecture can run, which is also the one that a driver would take.
        let from = Arch::COMMITTED.iter().rev().find(|from| **from <= arch);
        let from = from.ok_or_else(|| format!("no committed PTX is for {arch} or an older architecture"))?;
        let mut all = 0;
        for module in self.modules() {
            let (ptx, module) = (root.join(module.file(*from)), module.name);
            let cubin = out.join(format!("{module}.{arch}.cubin"));
            let started = Instant::now();
            let run =
                Command::new(ptxas).arg(format!("-arch={arch}")).arg(&ptx).arg("-o").arg(&cubin).output();
            let took = started.elapsed();
            let run = run.map_err(|error| format!("cannot run {}: {error}", ptxas.display()))?;
            if !run.status.success() {
                let said = String::from_utf8_lossy(&run.stderr);
                return Err(format!(
                    "{} refuses {} for {arch}: {}",
                    ptxas.display(),
                    ptx.display(),
                    said.trim_end()
                ));
            }
            let size =
                |path: &Path| fs::metadata(path).map(|file| file.len()).map_err(|error| error.to_string());
            let (bytes, text) = (size(&cubin)?, size(&ptx)?);
            println!("{module} for {arch}: {bytes} bytes of {text} of PTX, in {:.2} s", took.as_secs_f64());
            all += bytes;
        }
        println!("all for {arch}: {all} bytes");
        Ok(())
    }
}

fn summary(ptx: &Ptx) -> String {
    let directive = |name| {
        let line = ptx.text.lines().find(|line| line.starts_with(name));
        line.unwrap_or_default().trim_start_matches('.')
    };
    let lines = ptx.text.lines().count();
    let (entries, functions) = (ptx.report.entries.len(), ptx.report.functions.len());
    let (version, target) = (directive(".version"), directive(".target"));
    format!("{version}, {target}, {entries} entries, {functions} functions not inlined, {lines} lines")
}

/// The differences between the existing file and the built one, the most informative first.
fn differences(old: &str, new: &Ptx) -> Vec<String> {
    let mut found = Vec::new();
    match parse_header(old) {
        None => found.push("it has no header".to_owned()),
        Some(header) => {
            let fields = [
                ("generator", &header.generator, &new.header.generator),
                ("compiler", &header.compiler, &new.header.compiler),
                ("target", &header.target, &new.header.target),
                ("sources", &header.sources, &new.header.sources),
            ];
            let differ = fields.iter().filter(|(_, old, new)| old != new);
            found.extend(differ.map(|(name, old, new)| format!("{name}: {old}, now {new}")));
        }
    }
    let old_entries = bodies(old);
    let new_entries = bodies(&new.text);
    let get = |list: &[(String, String)], name: &str| {
        list.iter().find(|(other, _)| other == name).map(|(_, body)| body.clone())
    };
    for (name, body) in &new_entries {
        match get(&old_entries, name) {
            None => found.push(format!("{name} is new")),
            Some(old) if old != *body => found.push(format!("{name} differs")),
            Some(_) => {}
        }
    }
    let gone = old_entries.iter().filter(|(name, _)| get(&new_entries, name).is_none());
    found.extend(gone.map(|(name, _)| format!("{name} is gone")));
    let (old_lines, new_lines) = (old.lines().count(), new.text.lines().count());
    if old_lines != new_lines {
        found.push(format!("{old_lines} lines, now {new_lines}"));
    }
    let first = old.lines().zip(new.text.lines()).skip(4).position(|(old, new)| old != new);
    if let Some(at) = first.map(|at| at + 4) {
        let line = |text: &str| text.lines().nth(at).unwrap_or_default().trim().to_owned();
        found.push(format!("first difference after the header, line {}:", at + 1));
        found.push(format!("  - {}", line(old)));
        found.push(format!("  + {}", line(&new.text)));
    }
    found
}

/// The kernels and functions of a file, each with its text up to the next one.
fn bodies(ptx: &str) -> Vec<(String, String)> {
    let report = Report::read(ptx);
    let mut heads: Vec<_> = report.entries.into_iter().chain(report.functions).collect();
    heads.sort_by_key(|head| head.line);
    let lines: Vec<&str> = ptx.lines().collect();
    let ends = heads.iter().skip(1).map(|head| head.line - 1).chain([lines.len()]).collect::<Vec<_>>();
    heads.into_iter().zip(ends).map(|(head, end)| (head.name, lines[head.line - 1..end].join("\n"))).collect()
}
