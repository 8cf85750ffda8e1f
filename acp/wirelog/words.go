package wirelog

// frequentNames are the names of members that most frames have, none of which speaks of a
// secret.
var frequentNames = set(
	"jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data",
	"sessionId", "update", "sessionUpdate", "content", "type", "text", "toolCallId",
	"title", "kind", "status", "locations", "path", "line", "rawInput", "rawOutput",
	"oldText", "newText", "prompt", "stopReason", "entries", "priority", "used", "size",
	"name", "description", "cwd", "mcpServers", "options", "optionId", "outcome", "uri",
	"mimeType", "messageId", "terminalId", "toolCall", "resource", "modeId",
)

func set(words ...string) map[string]string {
	m := make(map[string]string, len(words))
	for _, w := range words {
		m[w] = w
	}
	return m
}

// tagNames are the names of members whose value may be a word of the protocol.
var tagNames = words(
	"type", "sessionUpdate", "kind", "status", "stopReason", "role", "outcome", "action",
	"mode", "category", "severity", "priority", "state",
)

// protocolWords are the words that the protocol itself has for those members.
var protocolWords = words(
	"accept", "acp", "agent_message_chunk", "agent_thought_chunk", "allow_always",
	"allow_once", "append", "array", "assistant", "audio", "authenticated",
	"available_commands_update", "blob", "boolean", "cancel", "cancelled",
	"compaction_summary_chunk", "compaction_update", "completed", "config_option_update",
	"content", "current_mode_update", "decline", "delete", "diff", "edit", "end_turn",
	"error", "execute", "failed", "fetch", "file", "form", "high", "http", "idle",
	"image", "in_progress", "info", "integer", "items", "low", "markdown", "max_tokens",
	"max_turn_requests", "medium", "mode", "model", "model_config", "move",
	"not_required", "notice", "number", "object", "other", "pending", "plan",
	"plan_removed", "plan_update", "read", "refusal", "reject_always", "reject_once",
	"requires_action", "resource", "resource_link", "running", "saved", "search",
	"select", "selected", "session_info_update", "session_message",
	"session_message_chunk", "sse", "stdio", "string", "subagent_update", "switch_mode",
	"terminal", "text", "think", "thought_level", "tool_call", "tool_call_update",
	"unauthenticated", "unknown", "url", "usage_update", "user", "user_message_chunk",
	"warning",
)

func words(all ...string) map[string]bool {
	m := make(map[string]bool, len(all))
	for _, w := range all {
		m[w] = true
	}
	return m
}
