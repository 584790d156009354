//! The sources of the facade and of its layers, parsed: which names the facade has, where each is defined,
//! and its documentation and methods.
//!
//! Paths are resolved as the compiler does it, through `use` and re-exports, as far as the layers need it: no
//! macro defines an item of the facade.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Item, ItemImpl, ItemUse, Lit, Meta, Type, UseTree, Visibility};

/// The facade, and the crates that it re-exports, with their folders.
const CRATES: [(&str, &str); 10] = [
    ("warpath", "host"),
    ("warpath_shared", "shared"),
    ("warpath_core", "host/core"),
    ("warpath_lang", "host/lang"),
    ("warpath_store", "host/store"),
    ("warpath_answer", "host/answer"),
    ("warpath_cpu", "host/cpu"),
    ("warpath_device", "host/device"),
    ("warpath_plan", "host/plan"),
    ("warpath_exec", "host/exec"),
];

/// A module, in a file of its own or within another's.
pub struct Module {
    parent: usize,
    root: usize,
    items: Vec<Item>,
    children: BTreeMap<String, usize>,
}

/// An item: the number of its module, and its number there.
pub type ItemIx = (usize, usize);

/// A meaning of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A module.
    Module(usize),
    /// An item of a module, or something in an item, such as a variant.
    Item(ItemIx),
    /// An item of another crate, of the prelude or of the language.
    Foreign,
}

/// A name of the facade.
pub struct Name {
    /// The path below `warpath`, such as `bitmap::RowSet`.
    pub path: String,
    /// The definition.
    pub item: ItemIx,
    /// The documentation: of the definition, and of the re-exports on the way to it.
    pub docs: Vec<String>,
}

/// All modules of the facade and its layers.
pub struct Sources {
    modules: Vec<Module>,
    roots: BTreeMap<&'static str, usize>,
    /// The blocks that implement something for an item, by the numbers of their modules and in these.
    impls: BTreeMap<ItemIx, Vec<ItemIx>>,
}

impl Sources {
    /// Reads and parses all crates. Modules of tests are left out.
    pub fn read() -> Self {
        let mut sources = Self { modules: Vec::new(), roots: BTreeMap::new(), impls: BTreeMap::new() };
        for (name, folder) in CRATES {
            let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("src");
            let at = sources.modules.len();
            sources.roots.insert(name, at);
            sources.add(at, at, items_of(&src.join("lib.rs")), &src);
        }
        for (module, Module { items, .. }) in sources.modules.iter().enumerate() {
            for (at, item) in items.iter().enumerate() {
                let Item::Impl(block) = item else { continue };
                let Type::Path(of) = &*block.self_ty else { continue };
                if let Meaning::Item(item) = sources.meaning(module, &of.path)
                    && !is_for_tests(&block.attrs)
                {
                    sources.impls.entry(item).or_default().push((module, at));
                }
            }
        }
        sources
    }

    /// Adds a module, and returns its number. `folder` has the files of its children.
    fn add(&mut self, parent: usize, root: usize, items: Vec<Item>, folder: &Path) -> usize {
        let at = self.modules.len();
        self.modules.push(Module { parent, root, items: Vec::new(), children: BTreeMap::new() });
        for item in &items {
            let Item::Mod(module) = item else { continue };
            if is_for_tests(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let folder = folder.join(&name);
            let items = match &module.content {
                Some((_, items)) => items.clone(),
                None => items_of(&folder.with_extension("rs")),
            };
            let child = self.add(at, root, items, &folder);
            self.modules[at].children.insert(name, child);
        }
        self.modules[at].items = items;
        at
    }

    /// The names of the facade, in the order of their paths.
    pub fn names(&self) -> Vec<Name> {
        let root = self.roots["warpath"];
        let mut names = Vec::new();
        self.names_of(root, "", &mut names);
        for (module, at) in &self.modules[root].children {
            self.names_of(*at, &format!("{module}::"), &mut names);
        }
        names.sort_by(|a, b| a.path.cmp(&b.path));
        names
    }

    fn names_of(&self, module: usize, prefix: &str, names: &mut Vec<Name>) {
        for item in &self.modules[module].items {
            match item {
                Item::Use(item) => {
                    for (path, name) in leaves(item) {
                        let mut docs = docs(&item.attrs);
                        let meaning = self.resolve(module, &path, &mut docs);
                        let Meaning::Item(at) = meaning else {
                            panic!("{path:?} is {meaning:?}, not an item")
                        };
                        docs.extend(self::docs(attributes(self.item(at))));
                        names.push(Name { path: format!("{prefix}{name}"), item: at, docs });
                    }
                }
                Item::Mod(_) => {}
                // The examples of the readme.
                Item::Struct(readme) if readme.ident == "Readme" => {}
                item => panic!("the facade has code of its own: {:?}", item.span().source_text()),
            }
        }
    }

    /// An item.
    pub fn item(&self, at: ItemIx) -> &Item {
        &self.modules[at.0].items[at.1]
    }

    /// The blocks that implement something for an item, each with the number of its module.
    pub fn impls_of(&self, item: ItemIx) -> Vec<(usize, &ItemImpl)> {
        let blocks = self.impls.get(&item).into_iter().flatten();
        let block =
            |at: &ItemIx| if let Item::Impl(block) = self.item(*at) { Some((at.0, block)) } else { None };
        blocks.filter_map(block).collect()
    }

    /// The meaning of a path in a module.
    pub fn meaning(&self, module: usize, path: &syn::Path) -> Meaning {
        let path: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.resolve(module, &path, &mut Vec::new())
    }

    /// The meaning of a path in a module. `docs` receives the documentation of the re-exports on the way.
    fn resolve(&self, module: usize, path: &[String], docs: &mut Vec<String>) -> Meaning {
        let (mut at, mut path) = (Some(module), path);
        while let (Some(here), Some((first, rest))) = (at, path.split_first()) {
            at = match first.as_str() {
                "crate" => Some(self.modules[here].root),
                "self" => Some(here),
                "super" => Some(self.modules[here].parent),
                _ => break,
            };
            path = rest;
        }
        let mut meaning = Meaning::Module(at.unwrap_or(module));
        for (number, segment) in path.iter().enumerate() {
            let Meaning::Module(here) = meaning else { return meaning };
            let is_last = number + 1 == path.len();
            meaning = match (number, self.roots.get(segment.as_str())) {
                (0, Some(root)) => Meaning::Module(*root),
                _ => self.look_up(here, segment, !is_last, docs),
            };
        }
        meaning
    }

    /// The meaning of a name in a module. A module and an item may have the same name.
    fn look_up(&self, module: usize, name: &str, is_module: bool, docs: &mut Vec<String>) -> Meaning {
        let Module { items, children, .. } = &self.modules[module];
        let item = items.iter().position(|item| ident(item).is_some_and(|ident| ident == name));
        let (item, child) = (item.map(|at| Meaning::Item((module, at))), children.get(name));
        let child = child.map(|at| Meaning::Module(*at));
        let found = if is_module { child.or(item) } else { item };
        if let Some(found) = found {
            return found;
        }
        let uses =
            || items.iter().filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None });
        for item in uses() {
            for (path, known) in leaves(item) {
                // `use rayon;` names a crate.
                if known == name && path != [name] {
                    let mut on_the_way = self::docs(&item.attrs);
                    let meaning = self.resolve(module, &path, &mut on_the_way);
                    docs.append(&mut on_the_way);
                    return meaning;
                }
            }
        }
        for (path, _) in uses().flat_map(leaves).filter(|(_, known)| known == "*") {
            if let Meaning::Module(other) = self.resolve(module, &path, &mut Vec::new())
                && other != module
            {
                let meaning = self.look_up(other, name, is_module, docs);
                if meaning != Meaning::Foreign {
                    return meaning;
                }
            }
        }
        child.unwrap_or(Meaning::Foreign)
    }
}

/// The items of a file.
fn items_of(file: &PathBuf) -> Vec<Item> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items
}

/// The paths of a `use`, each with the name that it brings into scope.
fn leaves(item: &ItemUse) -> Vec<(Vec<String>, String)> {
    fn walk(tree: &UseTree, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
        let with = |name: &syn::Ident| [path, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(tree) => walk(&tree.tree, &with(&tree.ident), found),
            UseTree::Name(tree) if tree.ident == "self" => {
                found.extend(path.last().map(|last| (path.to_vec(), last.clone())));
            }
            UseTree::Name(tree) => found.push((with(&tree.ident), tree.ident.to_string())),
            UseTree::Rename(tree) => found.push((with(&tree.ident), tree.rename.to_string())),
            UseTree::Glob(_) => found.push((path.to_vec(), "*".into())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, path, found)),
        }
    }
    let mut found = Vec::new();
    walk(&item.tree, &[], &mut found);
    found
}

/// The name of an item that can be named.
fn ident(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

/// The attributes of an item that can be named.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        _ => &[],
    }
}

/// The lines of the documentation.
fn docs(attributes: &[Attribute]) -> Vec<String> {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    attributes.iter().filter_map(line).collect()
}

/// True for `#[name(.., word, ..)]`.
fn has_word(attributes: &[Attribute], name: &str, word: &str) -> bool {
    let words = Punctuated::<Meta, syn::Token![,]>::parse_terminated;
    attributes.iter().filter(|attribute| attribute.path().is_ident(name)).any(|attribute| {
        attribute
            .parse_args_with(words)
            .is_ok_and(|words| words.iter().any(|meta| meta.path().is_ident(word)))
    })
}

/// True for `#[cfg(test)]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    has_word(attributes, "cfg", "test")
}

/// True if dependents see something with this visibility and these attributes.
pub fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && !has_word(attributes, "doc", "hidden")
}

/// The source text of a part of the syntax, on one line.
pub fn text_of(syntax: &impl Spanned) -> String {
    let text = syntax.span().source_text().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(", )", ")").replace(", >", ">")
}
