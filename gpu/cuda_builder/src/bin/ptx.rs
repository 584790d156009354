//! Makes the PTX that the repository carries, or checks that it is what the sources give.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use cuda_builder::{Arch, CudaBuilder, Ptx, Report, parse_header};

const USAGE: &str = "\
usage: cargo run -p warpath-cuda-builder -- build|check [--arch sm_XX]... [--root DIR]

build   compile gpu/ and write gpu/ptx/warpath.<arch>.ptx
check   compile gpu/ and compare with what is there; exit status 1 if it differs

--arch  this architecture only; may be repeated (default: every one that the repository carries)
--root  the workspace (default: the one around the current folder)
";

struct Options {
    check: bool,
    arches: Vec<Arch>,
    root: PathBuf,
}

fn main() -> ExitCode {
    let options = match options(env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprint!("ptx: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut good = true;
    for &arch in &options.arches {
        match run(&options, arch) {
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
    eprintln!("ptx: run `cargo run -p warpath-cuda-builder -- build` and commit gpu/ptx");
    ExitCode::FAILURE
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut command = None;
    let mut arches = Vec::new();
    let mut root = None;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "-h" | "--help" => return Ok(None),
            "--arch" => arches.push(value()?.parse().map_err(|error| format!("{error}"))?),
            "--root" => root = Some(PathBuf::from(value()?)),
            "build" | "check" if command.is_none() => command = Some(arg),
            _ => return Err(format!("unexpected argument `{arg}`")),
        }
    }
    let check = command.ok_or("say build or check")? == "check";
    if arches.is_empty() {
        arches = Arch::COMMITTED.to_vec();
    }
    let root = root.map_or_else(workspace_root, Ok)?;
    Ok(Some(Options { check, arches, root }))
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

/// Builds or checks one file; whether it is as it should be.
fn run(options: &Options, arch: Arch) -> Result<bool, String> {
    let builder = CudaBuilder::new(options.root.join("gpu")).arch(arch);
    let relative = format!("gpu/ptx/warpath.{arch}.ptx");
    let committed = options.root.join(&relative);
    if !options.check {
        let ptx = builder.copy_to(&committed).compile().map_err(|error| error.to_string())?;
        println!("{relative}: {}", summary(&ptx));
        print!("{}", ptx.report);
        return Ok(true);
    }
    let ptx = builder.compile().map_err(|error| error.to_string())?;
    let old = match fs::read_to_string(&committed) {
        Ok(old) => old,
        Err(error) => {
            println!("{relative}: cannot be read: {error}");
            return Ok(false);
        }
    };
    if old == ptx.text {
        println!("{relative}: up to date, {}", summary(&ptx));
        return Ok(true);
    }
    println!("{relative}: differs from what the sources give");
    differences(&old, &ptx).iter().for_each(|difference| println!("  {difference}"));
    println!("  built: {}", ptx.path.display());
    Ok(false)
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

/// How the file that is there differs from the one that was built, most telling first.
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

/// The kernels and functions of a file, each with its text up to the next.
fn bodies(ptx: &str) -> Vec<(String, String)> {
    let report = Report::read(ptx);
    let mut heads: Vec<_> = report.entries.into_iter().chain(report.functions).collect();
    heads.sort_by_key(|head| head.line);
    let lines: Vec<&str> = ptx.lines().collect();
    let ends = heads.iter().skip(1).map(|head| head.line - 1).chain([lines.len()]).collect::<Vec<_>>();
    heads.into_iter().zip(ends).map(|(head, end)| (head.name, lines[head.line - 1..end].join("\n"))).collect()
}
