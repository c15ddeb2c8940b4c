"""
A bus for servers of the official MCP Python SDK, over Redis or NATS: every process of the bus, in
Python or with mcp-listen in TypeScript, receives the changes that any of them publishes.
"""

from .bus import BusError, EventReceipt, ProcessBus

__all__ = ["BusError", "EventReceipt", "ProcessBus"]
