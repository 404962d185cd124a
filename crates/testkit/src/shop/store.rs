//! The state of the running shop: bounded, and in memory only.

use engine::random;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Stored orders; a further one replaces the oldest.
const MAX_ORDERS: usize = 100;

/// Visitors signed in at once; a further one signs out the one who signed in first.
const MAX_SIGNED_IN: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Store(Mutex<StoreState>);

#[derive(Debug)]
struct StoreState {
    orders: VecDeque<Order>,
    next_number: u32,
    sign_in_tokens: VecDeque<String>,
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

impl Default for StoreState {
    fn default() -> StoreState {
        StoreState {
            orders: VecDeque::new(),
            next_number: 1001,
            sign_in_tokens: VecDeque::new(),
            account_exists: true,
        }
    }
}

impl Store {
    /// Stores the order under a new number, which it returns.
    pub(super) fn add(&self, mut order: Order) -> u32 {
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number = number.wrapping_add(1);
        order.number = number;
        push(&mut state.orders, order, MAX_ORDERS);
        number
    }

    pub(super) fn orders(&self) -> Vec<Order> {
        self.lock().orders.iter().cloned().collect()
    }

    pub(super) fn order(&self, number: u32) -> Option<Order> {
        self.lock().orders.iter().find(|order| order.number == number).cloned()
    }

    /// Signs a visitor in and returns the token for the cookie.
    pub(super) fn sign_in(&self) -> String {
        let token = random::token(32);
        push(&mut self.lock().sign_in_tokens, token.clone(), MAX_SIGNED_IN);
        token
    }

    pub(super) fn sign_out(&self, token: &str) {
        self.lock().sign_in_tokens.retain(|known| known != token);
    }

    pub(super) fn is_signed_in(&self, token: &str) -> bool {
        self.lock().sign_in_tokens.iter().any(|known| known == token)
    }

    pub(super) fn account_exists(&self) -> bool {
        self.lock().account_exists
    }

    /// Also signs everybody out.
    pub(super) fn delete_account(&self) {
        let mut state = self.lock();
        state.account_exists = false;
        state.sign_in_tokens.clear();
    }

    pub(super) fn restore_account(&self) {
        self.lock().account_exists = true;
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}
