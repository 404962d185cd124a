//! Handlers that a page delegates: what their code looks for, and the elements that frameworks keep handlers for.
//!
//! Chromium describes a function by its source, and its closure by the values in it, without running code of the page.
//! Frameworks keep the handlers of elements in properties of the page's own world. Those are read there by a function that
//! Chromium ends before it has an effect.

use super::{
    ScriptCallError,
    handler_code::{HandlerCode, read_handler, selector_in_variable},
    pointer_listeners::{MAX_EVENT_TYPES, POINTER_EVENTS},
    script_call::unless_gone,
};
use crate::{
    browser::Browser,
    cdp::{
        Command, Id, SessionId, protocol as p,
        remote_objects::{
            FindKeys, FindPlaces, FrameworkKeys, GetHandlers, GetProperties, GetWindow, RemoteFunction,
        },
    },
    deadline::Deadline,
    script::ScriptFunction,
    state::{DelegatingNode, DocumentHandle, KnownListeners},
};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Nodes whose handlers are read.
const MAX_ROOTS: usize = 12;
const MAX_HANDLERS: usize = 200;
const MAX_CLOSURES: usize = 40;
/// Scopes of one closure that are searched, from the innermost on.
const MAX_SCOPES: usize = 3;
const MAX_SELECTORS: usize = 60;

/// What handlers look for, for the script.
#[derive(Debug, Default, Serialize)]
struct Delegation {
    /// Selectors, each with the place of the node that looks for it.
    selectors: Vec<(Option<usize>, String)>,
    /// Elements with handlers, by their places among all elements, of which there were so many.
    places: Vec<usize>,
    count: usize,
    /// Selectors, each with the place of its element.
    delegated: Vec<(i64, String)>,
    /// Whether there are handlers that may look for anything.
    delegates: bool,
}

/// The document whose handlers are read.
pub(super) struct PageDocument<'a> {
    pub frame: &'a str,
    pub session: &'a SessionId,
    /// The world of the script, to recognize what is known of this document.
    pub world: &'a Id,
    pub document: &'a DocumentHandle,
}

impl Browser {
    /// Passes to the script what delegated handlers look for. Whether there are new elements that it counts as actionable;
    /// `None`: nothing delegates.
    pub(super) async fn register_delegated(
        &self,
        page: &PageDocument<'_>,
        listeners: &[p::EventListener],
        limit: Deadline,
    ) -> Result<Option<bool>, ScriptCallError> {
        let mut nodes = self.with_known_listeners(page, |known| known.delegating.clone()).unwrap_or_default();
        nodes.push(DelegatingNode { id: page.document.id, place: None });
        nodes.extend(roots_of_frameworks(listeners));
        let handlers = pointer_handlers(listeners, &nodes);
        nodes.retain(|node| handlers.iter().any(|(id, ..)| *id == node.id));
        let same = |known: &mut KnownListeners| known.handlers.as_ref() == Some(&handlers);
        let Some(is_known) = self.with_known_listeners(page, same) else { return Ok(None) };
        let mut is_any = false;
        if !is_known {
            let dispatches;
            (dispatches, is_any) = self.read_delegation(page, &nodes, limit).await?;
            self.with_known_listeners(page, |known| {
                known.handlers = Some(handlers);
                known.dispatches = dispatches;
                // What was found before may lack the properties of a library that has come since.
                known.framework = None;
            });
        }
        let framework =
            self.with_known_listeners(page, |known| known.dispatches.then(|| known.framework.take()));
        let Some(mut keys) = framework.flatten() else { return Ok((!is_known).then_some(is_any)) };
        let found = self.register_framework_handlers(page, &mut keys, limit).await?;
        self.with_known_listeners(page, |known| known.framework = keys);
        Ok(Some(found || is_any))
    }

    fn with_known_listeners<T>(
        &self,
        page: &PageDocument<'_>,
        read: impl FnOnce(&mut KnownListeners) -> T,
    ) -> Option<T> {
        let mut state = self.shared.lock();
        let known = state.tab.as_mut()?.frames.get_mut(page.frame)?.listeners.as_mut()?;
        (known.world == *page.world).then(|| read(known))
    }

    /// Reads the handlers of nodes that delegate, and passes what they look for to the script. Whether a framework
    /// dispatches events to elements, and whether there are new elements that the script counts as actionable.
    async fn read_delegation(
        &self,
        page: &PageDocument<'_>,
        nodes: &[DelegatingNode],
        limit: Deadline,
    ) -> Result<(bool, bool), ScriptCallError> {
        let mut roots = Vec::new();
        for node in nodes.iter().take(MAX_ROOTS) {
            let resolve = p::ResolveInPage { backend_node_id: node.id, object_group: p::LISTENER_HANDLES };
            let resolved = self.inspect(page, &resolve, limit).await?;
            roots.extend(resolved.and_then(|found| found.object.object_id).map(|id| (id, node.place)));
        }
        let window = self.inspect(page, &GetWindow::of(&page.document.handle), limit).await?;
        roots.extend(window.and_then(|found| found.result.object_id).map(|id| (id, None)));
        let mut delegation = Delegation::default();
        let mut found = BTreeSet::new();
        let mut dispatches = false;
        let mut closures = MAX_CLOSURES;
        for (root, place) in roots {
            let Some(handlers) = self.inspect(page, &GetHandlers { object_id: &root }, limit).await? else {
                continue;
            };
            let pointer = handlers.listeners.into_iter().filter(|it| POINTER_EVENTS.contains(&&*it.r#type));
            for function in pointer.filter_map(|listener| listener.handler).take(MAX_HANDLERS) {
                let code = self.read_function(page, &function, &mut closures, limit).await?;
                dispatches |= code.is_dispatcher;
                delegation.delegates |= place.is_none();
                found.extend(code.selectors.into_iter().map(|selector| (place, selector)));
            }
        }
        delegation.selectors = found.into_iter().take(MAX_SELECTORS).collect();
        if delegation.selectors.is_empty() && !delegation.delegates {
            return Ok((dispatches, false));
        }
        let is_any =
            self.call_script(page.frame, ScriptFunction::RegisterDelegation, &delegation, limit).await?;
        Ok((dispatches, is_any))
    }

    /// Passes the elements that frameworks keep handlers for to the script. Whether there are new ones.
    async fn register_framework_handlers(
        &self,
        page: &PageDocument<'_>,
        keys: &mut Option<FrameworkKeys>,
        limit: Deadline,
    ) -> Result<bool, ScriptCallError> {
        if keys.as_ref().is_none_or(FrameworkKeys::is_empty) {
            let found = self.inspect(page, &FindKeys::in_document(&page.document.handle), limit).await?;
            *keys = Some(found.and_then(|found| found.result.value).unwrap_or_default());
        }
        let Some(known) = keys else { return Ok(false) };
        let found = self.inspect(page, &FindPlaces::in_document(&page.document.handle, known), limit).await?;
        let Some(found) = found.and_then(|found| found.result.value) else { return Ok(false) };
        if found.places.is_empty() && found.delegated.is_empty() {
            return Ok(false);
        }
        let delegation = Delegation {
            selectors: Vec::new(),
            places: found.places,
            count: found.count,
            delegated: found.delegated,
            delegates: true,
        };
        self.call_script(page.frame, ScriptFunction::RegisterDelegation, &delegation, limit).await
    }

    /// What a handler looks for: by its own code, that of the function it is bound to, and the variables of its closure.
    async fn read_function(
        &self,
        page: &PageDocument<'_>,
        function: &RemoteFunction,
        closures: &mut usize,
        limit: Deadline,
    ) -> Result<HandlerCode, ScriptCallError> {
        let mut code = read_handler(&function.description);
        let is_bound = function.description.contains("[native code]");
        let Some(handle) = function.object_id.as_ref() else { return Ok(code) };
        if (code.variables.is_empty() && !is_bound) || *closures == 0 {
            return Ok(code);
        }
        *closures -= 1;
        let own = self.inspect(page, &GetProperties::of(handle), limit).await?;
        let internal = own.map(|own| own.internal_properties).unwrap_or_default();
        for property in internal {
            let Some(value) = property.value else { continue };
            match (&*property.name, value.object_id) {
                ("[[TargetFunction]]", _) => {
                    let target = read_handler(&value.description);
                    code.selectors.extend(target.selectors);
                }
                ("[[Scopes]]", Some(scopes)) => self.read_scopes(page, &scopes, &mut code, limit).await?,
                _ => {}
            }
        }
        Ok(code)
    }

    async fn read_scopes(
        &self,
        page: &PageDocument<'_>,
        scopes: &Id,
        code: &mut HandlerCode,
        limit: Deadline,
    ) -> Result<(), ScriptCallError> {
        let listed = self.inspect(page, &GetProperties::of(scopes), limit).await?;
        let listed = listed.map(|listed| listed.result).unwrap_or_default();
        let inner = listed.into_iter().filter_map(|scope| scope.value);
        // The scopes of a whole script or module hold everything that it declares.
        let inner =
            inner.filter(|scope| ["Closure", "Block"].iter().any(|it| scope.description.starts_with(it)));
        for scope in inner.filter_map(|scope| scope.object_id).take(MAX_SCOPES) {
            let held = self.inspect(page, &GetProperties::of(&scope), limit).await?;
            for variable in held.map(|held| held.result).unwrap_or_default() {
                let text = variable.value.and_then(|value| value.value.as_str().map(str::to_owned));
                if let Some(text) = text.filter(|_| code.variables.contains(&variable.name)) {
                    code.selectors.extend(selector_in_variable(&text));
                }
            }
        }
        Ok(())
    }

    async fn inspect<C: Command>(
        &self,
        page: &PageDocument<'_>,
        command: &C,
        limit: Deadline,
    ) -> Result<Option<C::Response>, ScriptCallError> {
        unless_gone(self.connection.call(Some(page.session), command, limit.at).await, limit)
    }
}

/// Nodes that listen to more types of events than an element does, for what is inside of them.
fn roots_of_frameworks(listeners: &[p::EventListener]) -> Vec<DelegatingNode> {
    let mut types: HashMap<i64, HashSet<&str>> = HashMap::new();
    for listener in listeners {
        let Some(id) = listener.backend_node_id else { continue };
        types.entry(id).or_default().insert(&listener.r#type);
    }
    let mut roots: Vec<i64> =
        types.into_iter().filter(|(_, types)| types.len() > MAX_EVENT_TYPES).map(|(id, _)| id).collect();
    roots.sort_unstable();
    roots.into_iter().map(|id| DelegatingNode { id, place: None }).collect()
}

/// The nodes and places in the page's code of the pointer listeners of these nodes.
fn pointer_handlers(listeners: &[p::EventListener], nodes: &[DelegatingNode]) -> Vec<(i64, i64, i64)> {
    let pointer = listeners.iter().filter(|it| POINTER_EVENTS.iter().any(|event| it.r#type == **event));
    pointer
        .filter_map(|listener| {
            let id = listener.backend_node_id.filter(|id| nodes.iter().any(|node| node.id == *id))?;
            Some((id, listener.line_number, listener.column_number))
        })
        .collect()
}
