//! The question about a held effect that a session's calls wait for.

use super::{HeldEffect, Session, SessionEffects, lock};
use crate::approvals::ApprovalId;
use crate::error::Fault;
use browser::ReplyOptions;
use policy::{Action, Facts, SessionContext};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The question that is being asked, and what the gate needs to ask.
pub(super) struct EffectQuestionState {
    /// The question about the effect that is held now; or why it could not be asked.
    asked: watch::Sender<Option<Result<ApprovalId, Fault>>>,
    /// How the call that waits for it wants its reply.
    reply_options: Mutex<Option<ReplyOptions>>,
    /// Held effects, until the gate takes the queue.
    held: Mutex<Option<mpsc::Receiver<HeldEffect>>>,
}

impl EffectQuestionState {
    pub fn new(held: Option<mpsc::Receiver<HeldEffect>>) -> EffectQuestionState {
        EffectQuestionState {
            asked: watch::Sender::new(None),
            reply_options: Mutex::default(),
            held: Mutex::new(held),
        }
    }
}

impl Session {
    /// The effects of a signed-in session.
    pub fn effects(&self) -> Option<&SessionEffects> {
        self.effects.as_ref()
    }

    /// The queue of held effects. The gate takes it once.
    pub(crate) fn take_held_effects(&self) -> Option<mpsc::Receiver<HeldEffect>> {
        lock(&self.effect_question.held).take()
    }

    /// What leaves from now on follows this action.
    pub(crate) fn begin_effects(&self, action: &Action, facts: &Facts) {
        if let Some(effects) = &self.effects {
            let by_element = SessionContext { intercepted: Vec::new(), ..self.policy_context(facts) };
            effects.begin_action(self.action_number(), action, facts, &by_element);
        }
    }

    pub(crate) fn end_effects(&self, has_dialog: bool) {
        if let Some(effects) = &self.effects {
            effects.end_action(has_dialog);
        }
    }

    /// Resolves when an effect is held; never in a session without effects.
    pub(crate) async fn effect_held(&self) {
        match &self.effects {
            Some(effects) => effects.until_held().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn publish_question(&self, asked: Result<ApprovalId, Fault>) {
        self.effect_question.asked.send_replace(Some(asked));
    }

    pub(crate) fn clear_question(&self) {
        self.effect_question.asked.send_replace(None);
    }

    /// The question about the effect that is held, once it is asked; `None` if none is within this time.
    pub(crate) async fn question(&self, wait: Duration) -> Option<Result<ApprovalId, Fault>> {
        let mut asked = self.effect_question.asked.subscribe();
        let found = tokio::time::timeout(wait, asked.wait_for(Option::is_some)).await;
        match found {
            Ok(Ok(found)) => found.clone(),
            // The sender lives as long as the session.
            Ok(Err(_)) | Err(_) => None,
        }
    }

    pub(crate) fn set_effect_reply_options(&self, options: &ReplyOptions) {
        *lock(&self.effect_question.reply_options) = Some(options.clone());
    }

    pub(crate) fn effect_reply_options(&self) -> Option<ReplyOptions> {
        lock(&self.effect_question.reply_options).clone()
    }
}
