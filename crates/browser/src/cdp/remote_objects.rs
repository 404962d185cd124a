//! Objects of a page's own world, as Chromium describes them without running any of the page's code.

use super::{
    Command,
    bounded::Id,
    protocol::{ByValue, Evaluated, LISTENER_HANDLES, MAX_LISTENERS_REPLY},
};
use serde::{Deserialize, Serialize, de::IgnoredAny};

/// The listeners of one node or window, with their handlers. Its handle is of the group that the handlers shall be of.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetHandlers<'a> {
    pub object_id: &'a str,
}

impl Command for GetHandlers<'_> {
    const METHOD: &'static str = "DOMDebugger.getEventListeners";
    type Response = Handlers;

    fn max_reply(&self) -> usize {
        MAX_LISTENERS_REPLY
    }
}

#[derive(Debug, Deserialize)]
pub struct Handlers {
    pub listeners: Vec<Listener>,
}

#[derive(Debug, Deserialize)]
pub struct Listener {
    pub r#type: String,
    pub handler: Option<RemoteFunction>,
}

/// A function, with its source as its description.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteFunction {
    #[serde(default)]
    pub description: String,
    pub object_id: Option<Id>,
}

/// Calls no getters.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetProperties<'a> {
    pub object_id: &'a str,
    pub own_properties: bool,
}

impl<'a> GetProperties<'a> {
    pub fn of(object_id: &'a str) -> GetProperties<'a> {
        GetProperties { object_id, own_properties: true }
    }
}

impl Command for GetProperties<'_> {
    const METHOD: &'static str = "Runtime.getProperties";
    type Response = Properties;
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Properties {
    #[serde(default)]
    pub result: Vec<Property>,
    #[serde(default)]
    pub internal_properties: Vec<Property>,
}

#[derive(Debug, Deserialize)]
pub struct Property {
    pub name: String,
    pub value: Option<PropertyValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PropertyValue {
    #[serde(default)]
    pub description: String,
    pub object_id: Option<Id>,
    #[serde(default)]
    pub value: serde_json::Value,
}

/// A call of a function in the page's own world. Chromium ends it before it has an effect that lasts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspect<'a, A> {
    object_id: &'a str,
    function_declaration: &'static str,
    arguments: A,
    return_by_value: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    object_group: &'static str,
    throw_on_side_effect: bool,
    silent: bool,
}

impl<'a, A> Inspect<'a, A> {
    fn of(object_id: &'a str, function_declaration: &'static str, arguments: A) -> Inspect<'a, A> {
        Inspect {
            object_id,
            function_declaration,
            arguments,
            return_by_value: true,
            object_group: "",
            throw_on_side_effect: true,
            silent: true,
        }
    }
}

/// A handle of a document's window.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct GetWindow<'a>(Inspect<'a, [(); 0]>);

impl<'a> GetWindow<'a> {
    pub fn of(document: &'a str) -> GetWindow<'a> {
        let inspect = Inspect::of(document, "function () { return this.defaultView; }", []);
        GetWindow(Inspect { return_by_value: false, object_group: LISTENER_HANDLES, ..inspect })
    }
}

impl Command for GetWindow<'_> {
    const METHOD: &'static str = CALL;
    type Response = Evaluated<IgnoredAny>;
}

/// The properties in which the frameworks of a page keep the handlers of elements.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct FindKeys<'a>(Inspect<'a, [(); 0]>);

impl<'a> FindKeys<'a> {
    pub fn in_document(document: &'a str) -> FindKeys<'a> {
        FindKeys(Inspect::of(document, include_str!("../page/framework_keys.js"), []))
    }
}

impl Command for FindKeys<'_> {
    const METHOD: &'static str = CALL;
    type Response = Evaluated<FrameworkKeys>;
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct FrameworkKeys {
    /// Of React; or empty.
    react: String,
    /// An element with the symbol of Svelte; or -1.
    symbol: i64,
    /// Of jQuery; or empty.
    jquery: String,
}

impl FrameworkKeys {
    pub fn is_empty(&self) -> bool {
        self.react.is_empty() && self.jquery.is_empty() && self.symbol < 0
    }
}

/// The elements that frameworks keep handlers for.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct FindPlaces<'a>(Inspect<'a, FrameworkArguments<'a>>);

type FrameworkArguments<'a> = (ByValue<'a, String>, ByValue<'a, i64>, ByValue<'a, String>);

impl<'a> FindPlaces<'a> {
    pub fn in_document(document: &'a str, keys: &'a FrameworkKeys) -> FindPlaces<'a> {
        let arguments = (
            ByValue { value: &keys.react },
            ByValue { value: &keys.symbol },
            ByValue { value: &keys.jquery },
        );
        FindPlaces(Inspect::of(document, include_str!("../page/framework_handlers.js"), arguments))
    }
}

impl Command for FindPlaces<'_> {
    const METHOD: &'static str = CALL;
    type Response = Evaluated<FrameworkPlaces>;
}

#[derive(Debug, Deserialize)]
pub struct FrameworkPlaces {
    /// Of elements with handlers, among all elements of the document.
    pub places: Vec<usize>,
    /// How many elements there are.
    pub count: usize,
    /// Selectors of delegated handlers, each with the place of its element; -1 is the document.
    pub delegated: Vec<(i64, String)>,
}

const CALL: &str = "Runtime.callFunctionOn";
