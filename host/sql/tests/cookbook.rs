//! The recipes of `docs/cookbook.md` in SQL: each is run, and its output is compared with the page. With
//! `WARPATH_UPDATE_PAGES=1` the test writes the outputs into the page.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The number of recipes in SQL, at least.
const RECIPES: usize = 6;

#[test]
fn recipes_print_what_the_page_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/cookbook.md")).unwrap();
    let (mut updated, mut wrong, mut count) = (page.clone(), Vec::new(), 0);
    for section in page.split("\n## ").filter(|section| section.contains("\nwarpath sql ")) {
        let block = |language: &str| section.split(&format!("```{language}\n")).nth(1)?.split("```").next();
        let title = section.lines().next().unwrap_or_default();
        let command = block("sh").unwrap_or_else(|| panic!("{title}: no command"));
        let shown = block("text").unwrap_or_else(|| panic!("{title}: no output"));
        let folder = tempfile::tempdir().unwrap();
        fs::copy(root.join("tests/data/people.ndjson"), folder.path().join("people.ndjson")).unwrap();
        // `warpath sql` runs this program.
        let script = format!("set -e\n{}", command.replace("\nwarpath sql ", "\n\"$PROGRAM\" "));
        let script = script.replace("set -e\nwarpath sql ", "set -e\n\"$PROGRAM\" ");
        let ran = Command::new("sh")
            .args(["-c", &script])
            .env("PROGRAM", env!("CARGO_BIN_EXE_warpath-sql"))
            .current_dir(&folder)
            .output()
            .unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{title}: {stderr}");
        if stdout != shown {
            let blocks = |text: &str| format!("```sh\n{command}```\n\n```text\n{text}```\n");
            updated = updated.replacen(&blocks(shown), &blocks(&stdout), 1);
            wrong.push(format!("{title}\n$ {command}{stdout}{stderr}--- the page shows\n{shown}"));
        }
        count += 1;
    }
    assert!(count >= RECIPES, "{count} recipes");
    if updated != page && env::var_os("WARPATH_UPDATE_PAGES").is_some() {
        fs::write(root.join("docs/cookbook.md"), updated).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
