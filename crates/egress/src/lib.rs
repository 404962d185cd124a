//! The filtering forward proxy that is a session's only way out, and its ledger.
