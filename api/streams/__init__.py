"""The event stream over HTTP: Server-Sent Events, long poll, WebSocket. Never: what events are."""
