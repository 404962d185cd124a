//! Attacks on bridge tokens.

#[path = "../../../stockade/tests/common/seen.rs"]
mod seen;

use super::*;

const NOW: u64 = 1_800_000_000_000;
const MINUTE: Duration = Duration::from_secs(60);

fn pair() -> (Signer, Verifier) {
    let signer = Signer::generate().unwrap();
    let verifier = Verifier::new(&signer.public_key(), "default/alice", "j-1").unwrap();
    (signer, verifier)
}

#[test]
fn a_token_carries_its_claims_and_works_once() {
    let (signer, mut verifier) = pair();
    let token = signer.mint_at(NOW, "default/alice", "j-1", MINUTE).unwrap();
    let claims = verifier.accept_at(NOW, token.as_bytes()).unwrap();
    assert_eq!((claims.scope.as_str(), claims.target.as_str()), ("default/alice", "j-1"));
    assert_eq!(claims.expires_at_ms, NOW + 60_000);
    assert_eq!(verifier.accept_at(NOW, token.as_bytes()), Err(Refusal::Replayed));
}

#[test]
fn a_token_is_refused_for_each_reason_by_name() {
    let (signer, _) = pair();
    let mint = |now, scope, target| signer.mint_at(now, scope, target, MINUTE).unwrap();
    let good = mint(NOW, "default/alice", "j-1");
    let stranger = Signer::generate().unwrap().mint_at(NOW, "default/alice", "j-1", MINUTE).unwrap();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "token_missing"),
        (b"x".to_vec(), "token_malformed"),
        (b"not base64url!".to_vec(), "token_malformed"),
        (vec![b'A'; 5000], "token_malformed"),
        (format!("{good}=").into_bytes(), "token_malformed"),
        (format!(" {good}").into_bytes(), "token_malformed"),
        (good.as_bytes()[..40].to_vec(), "token_malformed"),
        (good.as_bytes()[4..].to_vec(), "token_bad_signature"),
        (stranger.into_bytes(), "token_bad_signature"),
        (mint(NOW, "default/bob", "j-1").into_bytes(), "token_wrong_scope"),
        (mint(NOW, "default/alic", "ej-1").into_bytes(), "token_wrong_scope"),
        (mint(NOW, "default/alice", "j-2").into_bytes(), "token_wrong_target"),
        (mint(NOW - 60_000, "default/alice", "j-1").into_bytes(), "token_expired"),
        (mint(NOW + 1_001, "default/alice", "j-1").into_bytes(), "token_too_long"),
    ];
    for (token, code) in cases {
        let mut verifier = Verifier::new(&signer.public_key(), "default/alice", "j-1").unwrap();
        let refused = verifier.accept_at(NOW, &token).unwrap_err();
        assert_eq!(refused.code(), code, "{}", String::from_utf8_lossy(&token));
        assert!(verifier.accept_at(NOW, good.as_bytes()).is_ok(), "the good one still works");
    }
}

#[test]
fn a_token_ends_at_its_millisecond_and_a_small_step_of_the_clock_is_forgiven() {
    for (age_ms, accepted) in [(-1_001, false), (-1_000, true), (0, true), (59_999, true), (60_000, false)] {
        let (signer, mut verifier) = pair();
        let token = signer.mint_at(NOW, "default/alice", "j-1", MINUTE).unwrap();
        let result = verifier.accept_at(NOW.saturating_add_signed(age_ms), token.as_bytes());
        assert_eq!(result.is_ok(), accepted, "at {age_ms} ms");
    }
}

#[test]
fn a_token_with_any_one_bit_changed_is_refused() {
    let (signer, mut verifier) = pair();
    let token = signer.mint_at(NOW, "default/alice", "j-1", MINUTE).unwrap().into_bytes();
    for bit in 0..token.len() * 8 {
        let mut altered = token.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let refused = verifier.accept_at(NOW, &altered).unwrap_err();
        assert!(matches!(refused, Refusal::Malformed | Refusal::BadSignature), "bit {bit}: {refused:?}");
    }
    assert!(verifier.accept_at(NOW, &token).is_ok());
}

#[test]
fn a_used_token_stays_used_through_renewals() {
    let (signer, mut verifier) = pair();
    let mut earlier = Vec::new();
    for renewal in 0..6 {
        let now = NOW + renewal * 30_000;
        let token = signer.mint_at(now, "default/alice", "j-1", MINUTE).unwrap();
        verifier.accept_at(now, token.as_bytes()).unwrap();
        earlier.push(token);
        for old in &earlier {
            let refused = verifier.accept_at(now, old.as_bytes()).unwrap_err();
            assert!(matches!(refused, Refusal::Replayed | Refusal::Expired), "{refused:?}");
        }
    }
}

#[test]
fn a_full_memory_refuses_until_nonces_expire() {
    let (signer, mut verifier) = pair();
    verifier.used = (0..NONCE_MEMORY as u128).map(|n| (n.to_be_bytes(), NOW + 30_000)).collect();
    let token = signer.mint_at(NOW, "default/alice", "j-1", MINUTE).unwrap();
    let refused = verifier.accept_at(NOW, token.as_bytes()).map_err(|refusal| seen::seen(refusal.code()));
    assert_eq!(refused.err(), Some("token_memory_full".to_owned()));
    assert!(verifier.accept_at(NOW + 30_000, token.as_bytes()).is_ok());
    assert_eq!(verifier.used.len(), 1);
}

#[test]
fn what_cannot_be_minted_is_an_error() {
    let (signer, _) = pair();
    let cases =
        [("s", "t", MINUTE + Duration::from_millis(1)), ("", "t", MINUTE), ("s", &"t".repeat(256), MINUTE)];
    for (scope, target, lifetime) in cases {
        assert!(signer.mint(scope, target, lifetime).is_err(), "{scope} {target} {lifetime:?}");
    }
}

#[test]
fn a_public_key_that_is_not_one_is_refused() {
    let weak = URL_SAFE_NO_PAD.encode([0; 32]);
    for key in ["", "AAAA", "!", weak.as_str()] {
        assert!(Verifier::new(key, "s", "t").is_err(), "{key}");
    }
}
