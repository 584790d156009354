//! Names and declarations for shared memory.
//!
//! LLVM gives Rust no address spaces. So module-level assembly declares a shared array, under a name that
//! must be unique in the PTX. The name comes from the position of the call in the source, so it is the same
//! in each build and on each machine: `__shared_kernel_line_41_17` for line 41, column 17 of
//! `kernel/line.rs`.
//!
//! `global_asm!` must be in a module, not in a function's body. Hence the expansion contains a small module,
//! and lengths and types must be names that are visible in a module.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Token, Type};

/// The input of `shared_array!`: `T; N`.
struct ArrayInput {
    element: Type,
    len: Expr,
}

impl Parse for ArrayInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { element, len: input.parse()? })
    }
}

/// Declares an array under a unique name and takes its address.
pub fn expand_array(input: TokenStream) -> syn::Result<TokenStream> {
    let ArrayInput { element, len } = syn::parse2(input)?;
    let name = name_for(&element);
    let declaration = format!(".shared .align 16 .b8 {name}[{{}}];");
    let address = address_of(&name);
    Ok(quote! {{
        #[allow(unused_imports, reason = "an element type and length may need no names")]
        mod shared_array_size {
            use super::*;
            pub(super) const BYTES: usize = ::cuda_std::shared::array_bytes::<#element>(#len);
            ::core::arch::global_asm!(#declaration, const BYTES);
        }
        const _: () = assert!(shared_array_size::BYTES == ::cuda_std::shared::array_bytes::<#element>(#len));
        #address
        address as *mut #element
    }})
}

/// Declares the memory whose size the launch gives, under a unique name, and takes its address.
pub fn expand_dynamic(input: TokenStream) -> syn::Result<TokenStream> {
    let element: Type = syn::parse2(input)?;
    let name = name_for(&element);
    let declaration = format!(".extern .shared .align 16 .b8 {name}[];");
    let address = address_of(&name);
    Ok(quote! {{
        const _: () = ::cuda_std::shared::assert_alignment::<#element>();
        mod dynamic_shared_mem {
            ::core::arch::global_asm!(#declaration);
        }
        #address
        address as *mut #element
    }})
}

fn address_of(name: &str) -> TokenStream {
    let instruction = format!("cvta.shared.u64 {{}}, {name};");
    quote! {
        let address: u64;
        // SAFETY: the instruction only takes the address of the array declared above.
        unsafe {
            ::core::arch::asm!(
                #instruction,
                out(reg64) address,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
    }
}

/// The name for the position at which the caller wrote the element type. The position of the call itself
/// would not do, because it is in a `macro_rules!` macro.
fn name_for(element: &Type) -> String {
    let span = first_span(element.to_token_stream()).unwrap_or_else(Span::call_site).unwrap();
    unique(name_for_place(&span.file(), span.line(), span.column()))
}

/// The span of the first token that is not a group. The groups around a `$element:ty` belong to the macro
/// that captured it.
fn first_span(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Group(group) => first_span(group.stream()).or_else(|| Some(group.span_open())),
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => Some(token.span()),
    })
}

/// The name for a position: the file's folder and stem, line, column. The folders above are left out, because
/// they differ from machine to machine.
fn name_for_place(file: &str, line: usize, column: usize) -> String {
    let path = Path::new(file).with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let tail = parts[parts.len().saturating_sub(2)..].join("_");
    let tail: String = tail.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("__shared_{tail}_{line}_{column}")
}

/// Makes a name unique. A call inside a `macro_rules!` macro has one position and many expansions; the second
/// and later ones get a number.
fn unique(name: String) -> String {
    static SEEN: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);
    let mut seen = SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let count = seen.get_or_insert_default().entry(name.clone()).or_insert(0);
    *count += 1;
    if *count == 1 { name } else { format!("{name}_{count}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_ptx_identifier_without_the_machines_folders() {
        assert_eq!(
            name_for_place("/home/me/gpu/src/kernel/new-line.rs", 41, 17),
            "__shared_kernel_new_line_41_17"
        );
        assert_eq!(name_for_place("lib.rs", 1, 2), "__shared_lib_1_2");
    }

    #[test]
    fn repeated_places_are_numbered() {
        assert_eq!(unique("repeated".into()), "repeated");
        assert_eq!(unique("repeated".into()), "repeated_2");
        assert_eq!(unique("repeated".into()), "repeated_3");
    }
}
