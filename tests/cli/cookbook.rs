//! The recipes of `docs/cookbook.md`: each is run, and its output is compared with the page.
//!
//! A recipe is a section `## …` of the page with two blocks: `sh`, the command, and `text`, what it prints on
//! standard output. A second `sh` block is the way of jq. Where the sentence before that block is "The same
//! with jq:", both print the same. With `WARPATH_UPDATE_PAGES=1` the test writes the outputs into the page.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::transcripts::shell;
use super::{Folder, data};

/// The number of recipes of the page, at least.
const RECIPES: usize = 49;

/// A section of the page.
struct Recipe {
    title: String,
    /// Blocks of the section: language, text, and the line of prose before the block.
    blocks: Vec<Block>,
}

struct Block {
    language: String,
    before: String,
    text: String,
}

impl Recipe {
    fn block(&self, language: &str, at: usize) -> Option<&Block> {
        self.blocks.iter().filter(|block| block.language == language).nth(at)
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cookbook.md")
}

fn recipes(page: &str) -> Vec<Recipe> {
    let (mut recipes, mut open): (Vec<Recipe>, Option<Block>) = (Vec::new(), None);
    let mut before = String::new();
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```"), line.strip_prefix("## ")) {
            (Some(_), Some(_), _) => {
                let blocks = &mut recipes.last_mut().expect("a block is in a section").blocks;
                blocks.extend(open.take());
            }
            (Some(block), None, _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(language), _) => {
                let (language, before) = (language.to_owned(), before.clone());
                open = Some(Block { language, before, text: String::new() });
            }
            (None, None, Some(title)) => recipes.push(Recipe { title: title.to_owned(), blocks: Vec::new() }),
            (None, None, None) if !line.is_empty() => before = line.to_owned(),
            (None, None, None) => {}
        }
    }
    recipes.retain(|recipe| recipe.blocks.len() > 1);
    // host/sql/tests/cookbook.rs runs those of SQL.
    recipes.retain(|recipe| recipe.block("sh", 0).is_none_or(|block| !block.text.contains("warpath sql")));
    recipes
}

fn folder() -> Folder {
    let names = ["people.ndjson", "tweets.ndjson", "products.ndjson", "bad.ndjson", "subscriptions.txt"];
    let files: Vec<(&str, Vec<u8>)> =
        names.iter().map(|name| (*name, fs::read(data(name)).unwrap())).collect();
    Folder::new(&files.iter().map(|(name, text)| (*name, &text[..])).collect::<Vec<_>>())
}

/// True if jq can be run. Continuous integration must have it.
fn has_jq() -> bool {
    let has = Command::new("jq").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(has || env::var_os("CI").is_none(), "CI runs jq's side of the recipes; install jq");
    has
}

#[test]
fn recipes_print_what_the_page_shows() {
    let page = fs::read_to_string(page()).unwrap();
    let recipes = recipes(&page);
    assert!(recipes.len() >= RECIPES, "{} recipes", recipes.len());
    let (has_jq, update) = (has_jq(), env::var_os("WARPATH_UPDATE_PAGES").is_some());
    let (mut wrong, mut updated) = (Vec::new(), page.clone());
    for recipe in &recipes {
        let title = &recipe.title;
        let ours = recipe.block("sh", 0).unwrap_or_else(|| panic!("{title}: no command"));
        let shown = recipe.block("text", 0).unwrap_or_else(|| panic!("{title}: no output"));
        // A folder of its own, so that no recipe needs the files of another.
        let ran = shell(&folder(), &ours.text, &[]);
        let (stdout, stderr) = (ran.text(), &ran.stderr);
        if stdout != shown.text {
            if update {
                let block = |text: &str| format!("```sh\n{}```\n\n```text\n{text}```\n", ours.text);
                assert!(updated.contains(&block(&shown.text)), "{title}: the output follows the command");
                updated = updated.replacen(&block(&shown.text), &block(stdout), 1);
            }
            wrong.push(format!("{title}\n$ {}{stdout}{stderr}--- the page shows\n{}", ours.text, shown.text));
        }
        if let Some(jq) = recipe.block("sh", 1).filter(|_| has_jq) {
            let ran = shell(&folder(), &jq.text, &[]);
            let (other, said) = (ran.text(), &ran.stderr);
            let is_same = jq.before != "The same with jq:" || other == stdout;
            if ran.code != 0 || other.is_empty() || !is_same {
                wrong.push(format!("{title}, with jq\n$ {}{other}{said}--- warpath\n{stdout}", jq.text));
            }
        }
    }
    if updated != page {
        fs::write(self::page(), updated).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
