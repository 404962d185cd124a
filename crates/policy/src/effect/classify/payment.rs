//! Judges fields that pay: cards, payment methods, and amounts together with who gets them.

use super::fields::last_part;
use super::terms::*;
use crate::effect::{Effect, EffectField};
use crate::{EffectClass, credential};

/// The field that says that a request pays.
pub(super) fn pays(effect: &Effect) -> Option<(EffectClass, &str)> {
    let name_of =
        |field: &EffectField| last_part(&field.name).to_ascii_lowercase().replace(['_', '-', ' '], "");
    let mut has_amount = false;
    let mut payee = None;
    for field in effect.fields.iter().filter(|field| !field.value.is_empty() && field.length <= 100) {
        let name = name_of(field);
        let names_card = ["card", "ccnum", "pan", "number", "ccno"].iter().any(|part| name.contains(part));
        let is_card = names_card && credential::is_card_number(&field.value);
        let is_code = matches!(
            name.as_str(),
            "cvc" | "cvv" | "csc" | "cvv2" | "cvc2" | "cardcvc" | "cardcvv" | "cccsc" | "securitycode"
        ) && field.value.bytes().all(|byte| byte.is_ascii_digit());
        let is_method = matches!(
            name.as_str(),
            "stripetoken"
                | "paymentmethodid"
                | "paymenttoken"
                | "paymentintent"
                | "paymentintentid"
                | "paymentnonce"
                | "paymentmethodnonce"
                | "paypalorderid"
                | "walletpassphrase"
        );
        let is_stake = matches!(name.as_str(), "stake" | "wager" | "bid" | "bet" | "bidamount" | "betamount")
            && field.value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if is_card || is_code || is_method || is_stake {
            return Some((EffectClass::Pay, &field.name));
        }
        let found = words(last_part(&field.name));
        has_amount |= found.iter().any(|word| word.is(AMOUNT))
            && found.iter().all(|word| word.is(AMOUNT | FILLER | MAKE));
        let names_payee = found.iter().any(|word| word.is(PAYEE))
            || uses_of(&name) & PAYEE != 0
            || name.starts_with("iban");
        // A place can be a destination too.
        let is_certain = !matches!(
            name.as_str(),
            "destination" | "destino" | "vers" | "til" | "karta" | "wallet" | "ucet" | "pix" | "swift"
        );
        if names_payee && (is_certain || is_account(&field.value) || is_account_number(&field.value))
            || matches!(name.as_str(), "to" | "address" | "account" | "na" | "a" | "naar" | "an")
                && (is_account(&field.value) || is_account_number(&field.value))
        {
            payee = Some(&field.name);
        }
    }
    payee.filter(|_| has_amount).map(|name| (EffectClass::Pay, name.as_str()))
}

/// The beginning of an IBAN, or digits.
fn is_account_number(value: &str) -> bool {
    let bare: Vec<u8> = value.bytes().filter(|byte| !b" -".contains(byte)).collect();
    let is_iban = bare.len() >= 4
        && bare[..2].iter().all(u8::is_ascii_uppercase)
        && bare[2..].iter().all(u8::is_ascii_alphanumeric)
        && bare[2..4].iter().all(u8::is_ascii_digit);
    is_iban || bare.len() >= 4 && bare.iter().all(u8::is_ascii_digit)
}

/// An IBAN or the address of a wallet.
fn is_account(value: &str) -> bool {
    let bare: Vec<u8> = value.bytes().filter(|byte| *byte != b' ').collect();
    let is_iban = bare.len() >= 15
        && bare.len() <= 34
        && bare[..2].iter().all(u8::is_ascii_uppercase)
        && bare[2..4].iter().all(u8::is_ascii_digit);
    let is_wallet = value.starts_with("0x") && bare.len() == 42;
    is_iban || is_wallet
}
