//! The append-only record of what was asked, decided and done.
