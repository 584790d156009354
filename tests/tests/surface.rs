//! The surface of the library: each name of the facade with the signatures of its public methods, in one
//! snapshot. The snapshot replaces `cargo-semver-checks`, which is blind to a facade of re-exports.
//!
//! A type in a signature that has no name in the facade could neither be written down nor looked up by
//! dependents. Such a signature is a fault.

use std::collections::BTreeSet;
use std::fmt::Write;

use syn::visit::{self, Visit};
use syn::{Fields, FnArg, Generics, ImplItem, Item, ItemImpl, ReturnType, Signature, TraitItem};

use crate::sources::{ItemIx, Meaning, Name, Sources, attributes, is_shown, text_of};

/// Traits that dependents cannot implement, and need not name: their types are in the facade.
const SEALED: &[(&str, &str)] = &[
    ("Operator", "what the engine does with results; `Hits` and the other iterators name each of them"),
    ("Prepare", "what `Find` needs of a query or a program"),
];

#[test]
fn the_surface_is_as_recorded() {
    let sources = Sources::read();
    let mut text = String::new();
    for name in sources.names() {
        Surface::of(&sources, &name).write(&name, &mut text);
    }
    insta::assert_snapshot!("surface", text);
}

#[test]
fn each_type_of_a_signature_has_a_name() {
    let sources = Sources::read();
    let names = sources.names();
    let mut types = Types {
        sources: &sources,
        named: names.iter().map(|name| name.item).collect(),
        module: 0,
        parameters: Vec::new(),
        unnamed: BTreeSet::new(),
    };
    let mut bad = Vec::new();
    for name in &names {
        Surface::of(&sources, name).visit(&mut types);
        bad.extend(std::mem::take(&mut types.unnamed).into_iter().map(|of| format!("{}: {of}", name.path)));
    }
    assert!(bad.is_empty(), "types without a name in the facade:\n{}", bad.join("\n"));
}

/// The public parts of an item.
struct Surface<'s> {
    /// The module of the definition.
    module: usize,
    item: &'s Item,
    /// The fields of a struct.
    fields: Vec<&'s syn::Field>,
    /// The blocks with public functions, and those of traits of which types are associated; each with the
    /// number of its module.
    blocks: Vec<(usize, &'s ItemImpl)>,
}

impl<'s> Surface<'s> {
    fn of(sources: &'s Sources, name: &Name) -> Self {
        let item = sources.item(name.item);
        let fields = match item {
            Item::Struct(item) => item.fields.iter().filter(|of| is_shown(&of.vis, &of.attrs)).collect(),
            _ => Vec::new(),
        };
        Self { module: name.item.0, item, fields, blocks: sources.impls_of(name.item) }
    }

    /// Appends the surface as text.
    fn write(&self, name: &Name, out: &mut String) {
        let is_open = attributes(self.item).iter().any(|of| of.path().is_ident("non_exhaustive"));
        let grows = if is_open { ", may grow" } else { "" };
        let path = &name.path;
        let derives = attributes(self.item).iter().filter(|of| of.path().is_ident("derive"));
        let mut lines: Vec<String> = derives.map(|of| text_of(&of.meta)).collect();
        let kind = match self.item {
            Item::Const(item) => format!("const {path}: {}", text_of(&item.ty)),
            Item::Enum(item) => {
                lines.extend(item.variants.iter().map(|of| format!("{}{}", of.ident, fields_of(&of.fields))));
                format!("enum {path}{}{grows}", text_of(&item.generics))
            }
            Item::Fn(item) => {
                text_of(&item.sig).replacen(&format!("fn {}", item.sig.ident), &format!("fn {path}"), 1)
            }
            Item::Struct(item) => format!("struct {path}{}{grows}", text_of(&item.generics)),
            Item::Trait(item) => {
                for of in &item.items {
                    lines.extend(if let TraitItem::Fn(of) = of { Some(text_of(&of.sig)) } else { None });
                }
                format!("trait {path}{}", text_of(&item.generics))
            }
            Item::Type(item) => format!("type {path}{}", text_of(&item.generics)),
            _ => path.clone(),
        };
        lines.extend(self.fields.iter().map(|of| match &of.ident {
            Some(name) => format!("{name}: {}", text_of(&of.ty)),
            None => text_of(&of.ty),
        }));
        let mut of_blocks = Vec::new();
        for (_, block) in &self.blocks {
            let of = if block.trait_.is_none() { text_of(&block.self_ty) } else { String::new() };
            // Methods for some parameters alone.
            let of =
                if of.contains('<') && !of.contains("<'") { format!(" (of {of})") } else { String::new() };
            for item in &block.items {
                match item {
                    ImplItem::Fn(item) if is_shown(&item.vis, &item.attrs) => {
                        of_blocks.push(format!("{}{of}", text_of(&item.sig)));
                    }
                    ImplItem::Const(item) if is_shown(&item.vis, &item.attrs) => {
                        of_blocks.push(format!("const {}: {}", item.ident, text_of(&item.ty)));
                    }
                    _ => {}
                }
            }
            if let Some((not, of, _)) = &block.trait_ {
                let not = not.map_or("", |_| "!");
                let types = block.items.iter().filter_map(|item| match item {
                    ImplItem::Type(item) => Some(format!("; {} = {}", item.ident, text_of(&item.ty))),
                    _ => None,
                });
                of_blocks.push(format!("impl {not}{}{}", text_of(of), types.collect::<String>()));
            }
        }
        of_blocks.sort();
        lines.extend(of_blocks);
        writeln!(out, "{kind}").unwrap();
        lines.iter().for_each(|line| writeln!(out, "    {line}").unwrap());
    }

    /// Visits the types of all signatures.
    fn visit(&self, types: &mut Types<'_>) {
        types.begin(self.module);
        match self.item {
            Item::Const(item) => types.visit_type(&item.ty),
            Item::Enum(item) => {
                types.with(&item.generics);
                item.variants.iter().flat_map(|of| &of.fields).for_each(|of| types.visit_type(&of.ty));
            }
            Item::Fn(item) => types.signature(&item.sig),
            Item::Struct(item) => types.with(&item.generics),
            Item::Trait(item) => {
                types.with(&item.generics);
                item.supertraits.iter().for_each(|of| types.visit_type_param_bound(of));
                for of in &item.items {
                    if let TraitItem::Fn(of) = of {
                        types.signature(&of.sig);
                    }
                }
            }
            // Only the facade knows the type of an alias.
            _ => {}
        }
        self.fields.iter().for_each(|of| types.visit_type(&of.ty));
        for (module, block) in &self.blocks {
            let is_inherent = block.trait_.is_none();
            for item in &block.items {
                types.begin(*module);
                types.declare(&block.generics);
                match item {
                    ImplItem::Fn(item) if is_inherent && is_shown(&item.vis, &item.attrs) => {
                        types.with(&block.generics);
                        types.signature(&item.sig);
                    }
                    ImplItem::Const(item) if is_inherent && is_shown(&item.vis, &item.attrs) => {
                        types.visit_type(&item.ty);
                    }
                    ImplItem::Type(item) => types.visit_type(&item.ty),
                    _ => {}
                }
            }
        }
    }
}

/// The fields of a variant.
fn fields_of(fields: &Fields) -> String {
    match fields {
        Fields::Unit => String::new(),
        Fields::Unnamed(fields) => {
            let types: Vec<String> = fields.unnamed.iter().map(|field| text_of(&field.ty)).collect();
            format!("({})", types.join(", "))
        }
        Fields::Named(fields) => {
            let field =
                |field: &syn::Field| Some(format!("{}: {}", field.ident.as_ref()?, text_of(&field.ty)));
            format!(" {{ {} }}", fields.named.iter().filter_map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Collects the types that have no name in the facade.
struct Types<'s> {
    sources: &'s Sources,
    named: BTreeSet<ItemIx>,
    /// The module whose names are in scope.
    module: usize,
    /// The generic parameters in scope.
    parameters: Vec<String>,
    unnamed: BTreeSet<String>,
}

impl Types<'_> {
    fn begin(&mut self, module: usize) {
        self.module = module;
        self.parameters = vec!["Self".into()];
    }

    fn declare(&mut self, generics: &Generics) {
        self.parameters.extend(generics.type_params().map(|of| of.ident.to_string()));
        self.parameters.extend(generics.const_params().map(|of| of.ident.to_string()));
    }

    fn with(&mut self, generics: &Generics) {
        self.declare(generics);
        self.visit_generics(generics);
    }

    fn signature(&mut self, signature: &Signature) {
        self.with(&signature.generics);
        for input in &signature.inputs {
            if let FnArg::Typed(input) = input {
                self.visit_type(&input.ty);
            }
        }
        if let ReturnType::Type(_, output) = &signature.output {
            self.visit_type(output);
        }
    }
}

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        visit::visit_path(self, path);
        let first = path.segments[0].ident.to_string();
        if self.parameters.contains(&first) {
            return;
        }
        let Meaning::Item(item) = self.sources.meaning(self.module, path) else { return };
        let last = &path.segments[path.segments.len() - 1].ident;
        if self.named.contains(&item) || SEALED.iter().any(|(sealed, _)| last == sealed) {
            return;
        }
        match self.sources.item(item) {
            // Another name for a type that has a name.
            Item::Type(alias) => {
                let module = std::mem::replace(&mut self.module, item.0);
                self.visit_type(&alias.ty);
                self.module = module;
            }
            _ => drop(self.unnamed.insert(last.to_string())),
        }
    }
}
