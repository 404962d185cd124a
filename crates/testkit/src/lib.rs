//! Sites and fixtures for tests, demonstrations and `stockade doctor --leak`. Nothing here is part of the product.

pub mod leak_site;
pub mod runtime;
pub mod shop;
