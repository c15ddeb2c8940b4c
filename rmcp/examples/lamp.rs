//! An MCP server of rmcp on stdio: `cargo run --example lamp`. Its tool switches a lamp, and
//! clients that subscribe to the lamp are notified.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use mcp_listen_rmcp::{Bus, ServerEvent, Subscriptions, Uri};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig, SubscriptionFilter,
        Tool,
    },
    service::{RequestContext, SubscriptionContext},
    transport::stdio,
};

/// The lamp on the desk.
#[derive(Clone)]
pub(crate) struct Lamp {
    is_on: Arc<AtomicBool>,
    bus: Bus,
    subscriptions: Subscriptions,
}

impl Lamp {
    pub(crate) fn new() -> Self {
        let bus = Bus::new();
        Self {
            is_on: Arc::default(),
            subscriptions: Subscriptions::new(bus.clone()),
            bus,
        }
    }

    fn switch(&self) {
        self.is_on.fetch_xor(true, Ordering::Relaxed);
        if let Ok(uri) = Uri::new(DESK, DESK.len()) {
            self.bus.publish(ServerEvent::ResourceUpdated { uri });
        }
    }
}

impl ServerHandler for Lamp {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        info
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(self.subscriptions.accept(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscriptions.listen(context).await
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = JsonObject::from_iter([("type".to_owned(), "object".into())]);
        let switch = Tool::new("switch", "Switches the lamp", schema);
        Ok(ListToolsResult::with_all_items(vec![switch]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "switch" {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        }
        self.switch();
        Ok(CallToolResult::success(vec![ContentBlock::text("Switched.")]).into())
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let is_on = self.is_on.load(Ordering::Relaxed);
        let text = if is_on { "on" } else { "off" };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, DESK)]).into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    Lamp::new().serve(stdio()).await?.waiting().await?;
    Ok(())
}

const DESK: &str = "lamp://desk";
