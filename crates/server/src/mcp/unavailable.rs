//! The MCP server of a control plane that could not start: it introduces itself, lists its tools, and answers each call
//! with the reason.

use super::server::server_info;
use super::{tool_reply, tools};
use engine::error::Fault;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::{Arc, Mutex, PoisonError};

/// Why the latest start failed.
#[derive(Clone)]
pub struct StartFault(Arc<Mutex<Fault>>);

impl StartFault {
    pub fn new(fault: Fault) -> StartFault {
        StartFault(Arc::new(Mutex::new(fault)))
    }

    pub fn set(&self, fault: Fault) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    pub fn get(&self) -> Fault {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone)]
pub struct UnavailableServer {
    pub fault: StartFault,
}

impl ServerHandler for UnavailableServer {
    fn get_info(&self) -> ServerConfig {
        server_info()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::offered_by_default().cloned().collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::offered_by_default().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResponse::from(tool_reply::into_call_result(Err(self.fault.get()))))
    }
}
