//! `#[kernel]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, FnArg, ItemFn, ReturnType, Type};

/// Checks the function and writes it twice, once for each kind of target.
///
/// # Errors
///
/// If the function cannot be a kernel; the error points at the part that stands in the way.
pub fn expand(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(attribute, "#[kernel] takes no arguments"));
    }
    let function: ItemFn = syn::parse2(item)?;
    check(&function)?;

    let ItemFn { attrs, vis, sig, block } = &function;
    let (name, inputs) = (&sig.ident, &sig.inputs);
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #vis unsafe extern "ptx-kernel" fn #name(#inputs) #block

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #vis unsafe fn #name(#inputs) #block
    })
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
        let arguments = expand(quote! { fast }, quote! { unsafe fn f() {} });
        assert!(arguments.expect_err("no arguments").to_string().contains("no arguments"));
    }
}
