//! What the shop remembers while it runs: bounded, and in memory only.

use engine::random;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Orders kept; the oldest makes room for a further one.
const MOST_ORDERS: usize = 100;

/// Visitors signed in at once; the one who has been so for longest is signed out for a further one.
const MOST_VISITORS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Store(Mutex<Shelves>);

#[derive(Debug)]
struct Shelves {
    orders: VecDeque<Order>,
    next_number: u32,
    visitors: VecDeque<String>,
    account_exists: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Order {
    pub(super) number: u32,
    pub(super) product: &'static str,
    pub(super) quantity: u32,
    pub(super) name: String,
    pub(super) address: String,
    pub(super) delivery: &'static str,
    pub(super) gift_wrap: bool,
}

impl Default for Shelves {
    fn default() -> Shelves {
        Shelves {
            orders: VecDeque::new(),
            next_number: 1001,
            visitors: VecDeque::new(),
            account_exists: true,
        }
    }
}

impl Store {
    /// Gives the order its number and keeps it.
    pub(super) fn add(&self, mut order: Order) -> u32 {
        let mut shelves = self.shelves();
        let number = shelves.next_number;
        shelves.next_number = number.wrapping_add(1);
        order.number = number;
        push(&mut shelves.orders, order, MOST_ORDERS);
        number
    }

    pub(super) fn orders(&self) -> Vec<Order> {
        self.shelves().orders.iter().cloned().collect()
    }

    pub(super) fn order(&self, number: u32) -> Option<Order> {
        self.shelves().orders.iter().find(|order| order.number == number).cloned()
    }

    /// Remembers a visitor who proved who he is; the token goes into his cookie.
    pub(super) fn sign_in(&self) -> String {
        let token = random::token(32);
        push(&mut self.shelves().visitors, token.clone(), MOST_VISITORS);
        token
    }

    pub(super) fn sign_out(&self, token: &str) {
        self.shelves().visitors.retain(|known| known != token);
    }

    pub(super) fn is_signed_in(&self, token: &str) -> bool {
        self.shelves().visitors.iter().any(|known| known == token)
    }

    pub(super) fn account_exists(&self) -> bool {
        self.shelves().account_exists
    }

    /// Everybody who was signed in to it is signed out.
    pub(super) fn delete_account(&self) {
        let mut shelves = self.shelves();
        shelves.account_exists = false;
        shelves.visitors.clear();
    }

    pub(super) fn restore_account(&self) {
        self.shelves().account_exists = true;
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}
