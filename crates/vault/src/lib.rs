//! Credentials at rest and their backends; grants that release them.
