//! The expansion of `#[kernel]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, ExprCall, ExprLit, FnArg, ItemFn, Lit, ReturnType, Type};

/// Checks the function and emits it twice, once for each kind of target.
///
/// # Errors
///
/// Returns an error if the function cannot be a kernel. The error points at the part that prevents it.
pub fn expand(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let bounds = LaunchBounds::parse(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    check(&function)?;

    let ItemFn { attrs, vis, sig, block } = &function;
    let (name, inputs) = (&sig.ident, &sig.inputs);
    let bounds = bounds.map(|LaunchBounds { threads, blocks }| {
        let comment = format!("// launch_bounds {name} {threads} {blocks}");
        quote! {
            #[cfg(target_arch = "nvptx64")]
            ::core::arch::global_asm!(#comment);
        }
    });
    Ok(quote! {
        #bounds

        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #vis unsafe extern "ptx-kernel" fn #name(#inputs) #block

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #vis unsafe fn #name(#inputs) #block
    })
}

/// `launch_bounds(THREADS, BLOCKS)`: the most threads that a block is launched with, and the fewest blocks
/// for which a multiprocessor should have room. The second number limits registers. The meaning is that of
/// CUDA's `__launch_bounds__`.
///
/// rustc has no attribute for launch bounds. So the macro leaves a comment in the module's assembly, from
/// which `cuda_builder` makes the entry's directives.
struct LaunchBounds {
    threads: u32,
    blocks: u32,
}

impl LaunchBounds {
    fn parse(attribute: TokenStream) -> syn::Result<Option<Self>> {
        if attribute.is_empty() {
            return Ok(None);
        }
        let message = "#[kernel] takes nothing, or `launch_bounds(THREADS, BLOCKS)`";
        let wrong = |attribute: &TokenStream| Error::new_spanned(attribute, message);
        let call: ExprCall = syn::parse2(attribute.clone()).map_err(|_| wrong(&attribute))?;
        let number = |expr: &Expr| match expr {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse::<u32>().ok(),
            _ => None,
        };
        let named = matches!(&*call.func, Expr::Path(path) if path.path.is_ident("launch_bounds"));
        let numbers: Vec<_> = call.args.iter().filter_map(number).collect();
        match numbers[..] {
            [threads @ 1..=1024, blocks @ 1..=32] if named && call.args.len() == 2 => {
                Ok(Some(Self { threads, blocks }))
            }
            _ => Err(wrong(&attribute)),
        }
    }
}

fn check(function: &ItemFn) -> syn::Result<()> {
    let sig = &function.sig;
    if let Some(token) = &sig.asyncness {
        return Err(Error::new_spanned(token, "a kernel cannot be async"));
    }
    if let Some(token) = &sig.constness {
        return Err(Error::new_spanned(token, "a kernel cannot be const"));
    }
    if let Some(abi) = &sig.abi {
        return Err(Error::new_spanned(abi, "#[kernel] chooses the ABI itself; leave `extern` out"));
    }
    if !sig.generics.params.is_empty() {
        let message = "a kernel cannot be generic: the host looks it up by one unmangled name";
        return Err(Error::new_spanned(&sig.generics, message));
    }
    if let Some(clause) = &sig.generics.where_clause {
        return Err(Error::new_spanned(clause, "a kernel cannot have a where clause"));
    }
    if sig.unsafety.is_none() {
        let message =
            "a kernel must be `unsafe fn`: its threads share the memory that its arguments point at";
        return Err(Error::new_spanned(sig.fn_token, message));
    }
    if let Some(token) = &sig.variadic {
        return Err(Error::new_spanned(token, "a kernel cannot be variadic"));
    }
    if let Some(FnArg::Receiver(receiver)) = sig.inputs.first() {
        return Err(Error::new_spanned(receiver, "a kernel cannot take `self`"));
    }
    match &sig.output {
        ReturnType::Default => Ok(()),
        ReturnType::Type(_, ty) if matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) => Ok(()),
        ReturnType::Type(_, ty) => {
            Err(Error::new_spanned(ty, "a kernel returns nothing; write results through a pointer argument"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(item: TokenStream) -> String {
        expand(TokenStream::new(), item).expect("a kernel").to_string()
    }

    fn error(item: TokenStream) -> String {
        expand(TokenStream::new(), item).expect_err("not a kernel").to_string()
    }

    #[test]
    fn a_kernel_keeps_its_docs_and_gets_both_forms() {
        let out = expanded(quote! {
            /// Does it.
            #[inline(never)]
            pub(crate) unsafe fn name(mut a: u32, (b, c): (u32, u32)) { a += b + c; }
        });
        assert_eq!(out.matches("Does it.").count(), 2, "{out}");
        assert_eq!(out.matches("inline (never)").count(), 2, "{out}");
        assert!(out.contains("pub (crate) unsafe extern \"ptx-kernel\" fn name (mut a : u32"), "{out}");
        assert!(out.contains("pub (crate) unsafe fn name (mut a : u32"), "{out}");
        assert_eq!(out.matches("no_mangle").count(), 1, "{out}");
        syn::parse_str::<syn::File>(&out).expect("it parses");
    }

    #[test]
    fn a_unit_return_is_allowed() {
        expanded(quote! { unsafe fn name() -> () {} });
    }

    #[test]
    fn what_cannot_be_a_kernel_is_refused() {
        assert!(error(quote! { fn f() {} }).contains("unsafe fn"));
        assert!(error(quote! { async unsafe fn f() {} }).contains("async"));
        assert!(error(quote! { const unsafe fn f() {} }).contains("const"));
        assert!(error(quote! { unsafe extern "C" fn f() {} }).contains("ABI"));
        assert!(error(quote! { unsafe fn f<T>(a: T) {} }).contains("generic"));
        assert!(error(quote! { unsafe fn f<const N: usize>() {} }).contains("generic"));
        assert!(error(quote! { unsafe fn f() where u32: Copy {} }).contains("where"));
        assert!(error(quote! { unsafe fn f() -> u32 { 0 } }).contains("returns nothing"));
        assert!(error(quote! { unsafe fn f(&self) {} }).contains("self"));
        assert!(error(quote! { struct S; }).contains("expected"));
        for attribute in [
            quote! { fast },
            quote! { launch_bounds },
            quote! { launch_bounds(256) },
            quote! { launch_bounds(0, 1) },
            quote! { launch_bounds(2048, 1) },
            quote! { launch_bounds(256, N) },
            quote! { bounds(256, 2) },
        ] {
            let error = expand(attribute, quote! { unsafe fn f() {} }).expect_err("wrong arguments");
            assert!(error.to_string().contains("takes nothing, or"), "{error}");
        }
    }

    #[test]
    fn launch_bounds_leave_word_for_the_builder() {
        let out =
            expand(quote! { launch_bounds(256, 3) }, quote! { unsafe fn f(a: u32) {} }).expect("a kernel");
        assert!(out.to_string().contains("global_asm ! (\"// launch_bounds f 256 3\")"), "{out}");
    }
}
