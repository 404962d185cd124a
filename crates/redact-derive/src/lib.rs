//! `#[derive(RedactedFields)]`: implements the trait of that name if every field implements it.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Type, parse_macro_input, parse_quote};

/// Implements `redact::RedactedFields` for a struct or an enum. Every field's type must implement it too.
#[proc_macro_derive(RedactedFields)]
pub fn derive_redacted_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(mut input: DeriveInput) -> Result<proc_macro2::TokenStream, Error> {
    let types: Vec<Type> = match &input.data {
        Data::Struct(data) => field_types(&data.fields).collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| field_types(&variant.fields)).collect(),
        Data::Union(_) => return Err(Error::new_spanned(&input.ident, "a union has no fields to check")),
    };
    let name = &input.ident;
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::redact::RedactedFields));
    }
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    // The checks are expressions, not bounds: a type may contain itself.
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::redact::RedactedFields for #name #type_generics #where_clause {
            fn every_field_is_redacted() {
                #(::redact::assert_redacted::<#types>();)*
            }
        }
    })
}

fn field_types(fields: &Fields) -> impl Iterator<Item = Type> + '_ {
    fields.iter().map(|field| field.ty.clone())
}
