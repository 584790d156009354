//! The table of stages: `explain` says what runs, and the tables of the documentation are those of the code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use warpath::columns::{ColumnType, Schema};
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath::{Program, Query, RowForm, TextForm, Want};
use warpath_answer::backend::{Backend, Evaluation, Stage};
use warpath_cpu::twig::standing;
use warpath_device::Pipeline;
use warpath_device::cuda::MODULES;
use warpath_device::stages::ROWS;
use warpath_shared::kernel::KERNELS;
use warpath_store::packed::PackedText;
use warpath_tests::data;
use warpath_tests::emulated::Emulated;

/// A kernel as `explain` prints it, and whether it has a condition.
struct Said {
    kernel: String,
    has_condition: bool,
}

/// The kernels of the stages that run on the device, in order.
fn said(stages: &[Stage]) -> Result<Vec<Said>> {
    let mut all = Vec::new();
    for stage in stages.iter().filter(|stage| stage.place == "device") {
        let (kernels, _) = stage.what.split_once(": ").with_context(|| stage.what.clone())?;
        for words in kernels.split(", ") {
            let (condition, kernel) = words.rsplit_once(' ').unwrap_or(("", words));
            all.push(Said { kernel: kernel.into(), has_condition: !condition.is_empty() });
        }
    }
    Ok(all)
}

/// Kernels with a condition: those that some explanation has, and those that some of its runs launched.
#[derive(Default)]
struct Conditions {
    said: BTreeSet<String>,
    launched: BTreeSet<String>,
}

impl Conditions {
    /// Compares the stages of an evaluation with the launches of a run of it.
    fn compare(&mut self, stages: &[Stage], launches: &[&'static str]) -> Result<()> {
        let said = said(stages)?;
        let mut ran: Vec<&str> = Vec::new();
        for kernel in launches {
            if !ran.contains(kernel) {
                ran.push(kernel);
            }
        }
        for Said { kernel, has_condition } in &said {
            ensure!(*has_condition || ran.contains(&kernel.as_str()), "`{kernel}` is said and did not run");
            if *has_condition {
                self.said.insert(kernel.clone());
            }
        }
        // Equal to the launches only if each of them is said, in this order.
        let mut in_order: Vec<&str> = Vec::new();
        for Said { kernel, .. } in &said {
            if ran.contains(&kernel.as_str()) && !in_order.contains(&kernel.as_str()) {
                in_order.push(kernel);
            }
        }
        ensure!(in_order == ran, "{in_order:?} is said, {ran:?} ran");
        self.launched.extend(ran.into_iter().map(str::to_owned));
        Ok(())
    }
}

const PATHS: [&[&str]; 9] = [
    &["$.user.lang"],
    &["$.user.lang", "$.id", "$"],
    &["$.user[*]"],
    &["$[?@.id == 1]", "$.tags[*]"],
    &["$[?@ > 1]"],
    &["$..id"],
    &["$..*"],
    &["$[?@ == $.id]"],
    &["$[?match(@, $.id)]"],
];

#[test]
fn explain_says_what_runs() -> Result<()> {
    let device = Emulated::default();
    let backend = Pipeline::new(device.clone())?;
    let mut worker = backend.worker(0)?;
    let texts =
        [data::file("people.ndjson"), b"{\"id\" : \"1\", \"user\":{ \"lang\":\"a\\n\"}}\n".as_slice()];
    let mut conditions = Conditions::default();
    for paths in PATHS {
        let queries = paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
        let columns: Vec<_> = queries.iter().map(|query| (query.clone(), ColumnType::Json)).collect();
        let (schema, program) = (Schema::new(&columns)?, Program::new(&queries)?);
        let none = Want::default();
        for (program, want) in [
            (&program, none),
            (&program, none.matches(true)),
            (&program, none.records(true)),
            (&program, none.text(TextForm::Json)),
            (&program, none.text(TextForm::Raw)),
            (&program, none.rows(RowForm::Csv)),
            (schema.program(), none.columns(schema.width())),
        ] {
            for text in texts {
                for (strict, is_packed) in [(false, false), (true, false), (false, true), (true, true)] {
                    let evaluation = Evaluation { program, want, strict, packed: is_packed };
                    drop(device.take_launches());
                    if is_packed {
                        worker.answer_packed(&PackedText::pack(text)?, program, want, strict)?;
                    } else if strict {
                        worker.answer_strictly(text, program, want)?;
                    } else {
                        worker.answer(text, program, want)?;
                    }
                    conditions.compare(&backend.stages(&evaluation), &device.take_launches()).with_context(
                        || format!("{paths:?}, {want:?}, strict {strict}, packed {is_packed}"),
                    )?;
                }
            }
        }
    }
    let never: Vec<_> = conditions.said.difference(&conditions.launched).collect();
    ensure!(never.is_empty(), "{never:?} never ran");
    Ok(())
}

#[test]
fn explain_says_what_runs_for_subscriptions() -> Result<()> {
    let device = Emulated::default();
    let backend = Pipeline::new(device.clone())?;
    let mut subscriptions = Subscriptions::default();
    ensure!(subscriptions.add_file("one\t/a/b\ntwo\t//b\n").is_empty());
    let current = Standing::new(subscriptions).current();
    let mut conditions = Conditions::default();
    for documents in [Documents::Ndjson, Documents::Json, Documents::Xml] {
        let mut worker = standing::worker(&backend, 0)?;
        drop(device.take_launches());
        match documents {
            Documents::Ndjson => drop(worker.lines(&current, b"{\"a\":{\"b\":1}}\n{\"c\":2}\n")?),
            Documents::Json => drop(worker.documents(&current, &[b"{\"a\":{\"b\":1}}"], documents)?),
            Documents::Xml => drop(worker.documents(&current, &[b"<a><b>1</b></a>"], documents)?),
        }
        conditions
            .compare(&standing::stages(&backend, documents), &device.take_launches())
            .with_context(|| format!("{documents:?}"))?;
    }
    Ok(())
}

#[test]
fn each_kernel_belongs_to_a_stage() {
    let of_rows: BTreeSet<&str> = ROWS.iter().flat_map(|row| row.kernels).map(|kernel| kernel.name).collect();
    let all: BTreeSet<&str> = KERNELS.iter().map(|(kernel, _)| *kernel).collect();
    assert_eq!(of_rows, all);
}

/// Returns the page in which the tables are.
fn kernels_page() -> Result<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels.md"))?)
}

/// Names in backticks, separated by commas. Only the last word of each is a name.
fn in_backticks(names: &str) -> String {
    let quoted = |words: &str| match words.rsplit_once(' ') {
        Some((condition, name)) => format!("{condition} `{name}`"),
        None => format!("`{words}`"),
    };
    names.split(", ").map(quoted).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_of_stages_in_the_documentation_is_the_one_of_the_code() -> Result<()> {
    let mut table = String::new();
    for row in ROWS {
        let (name, kernels) = (row.name, in_backticks(&row.kernel_names()));
        let what = row.what.replace("{levels}", "leveled bitmaps");
        writeln!(table, "| `{name}` | {what} | {kernels} | {} |", row.bytes)?;
    }
    ensure!(kernels_page()?.contains(&table), "docs/kernels.md lacks these rows:\n{table}");
    Ok(())
}

#[test]
fn the_table_of_modules_in_the_documentation_has_all_of_them() -> Result<()> {
    let page = kernels_page()?;
    let lines: Vec<&str> = page.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("| module | kernels |"));
    let rows = &lines[head.context("no table of modules")? + 2..];
    for (number, module) in MODULES.iter().enumerate() {
        let want = format!("| `{}` | {} |", module.name, in_backticks(&module.kernels.join(", ")));
        let found = rows.get(number).copied().unwrap_or_default();
        ensure!(found.starts_with(&want), "docs/kernels.md has `{found}` for\n{want}");
    }
    ensure!(!rows[MODULES.len()].starts_with('|'), "docs/kernels.md has more modules");
    Ok(())
}
