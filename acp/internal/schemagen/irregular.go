package main

// This file holds what the schema does not say, or says in a way that no rule covers.

// renamed gives definitions another Go name than the rules would.
var renamed = map[string]string{
	"EmbeddedResourceResource": "ResourceContents",
	"Content":                  "ToolCallBlock",
	"Diff":                     "ToolCallDiff",
	"Terminal":                 "ToolCallTerminal",
}

// ownVariants names the variants that need a type of their own.
var ownVariants = map[string]string{
	"SessionUpdate/user_message_chunk":   "UserMessageChunk",
	"SessionUpdate/agent_message_chunk":  "AgentMessageChunk",
	"SessionUpdate/agent_thought_chunk":  "AgentThoughtChunk",
	"RequestPermissionOutcome/cancelled": "CancelledPermissionOutcome",
	"ElicitationAction/decline":          "ElicitationDeclineAction",
	"ElicitationAction/cancel":           "ElicitationCancelAction",
}

// unknownNames overrides the name of a union's unknown variant.
var unknownNames = map[string]string{
	"StateUpdate": "UnstableOtherStateUpdate", // "unknown" is one of its states
}

// customDefs are written by hand in package acp.
var customDefs = map[string]bool{
	"RequestId": true, "ElicitationContentValue": true, "SessionConfigSelectOptions": true,
}

// shapes are the unions without a tag: the member that tells each variant.
var shapes = map[string]map[string]string{
	"EmbeddedResourceResource": {"TextResourceContents": "text", "BlobResourceContents": "blob"},
	"AvailableCommandInput":    {"UnstructuredCommandInput": "hint"},
	"ElicitationScope":         {"ElicitationSessionScope": "sessionId", "ElicitationRequestScope": "requestId"},
}

// flatUnions are the objects that are a struct and a union at once: the field that holds the union, and the union's name.
var flatUnions = map[string]struct{ field, union, custom string }{
	"SessionConfigOption":           {"Kind", "SessionConfigKind", ""},
	"CreateElicitationRequest":      {"Mode", "ElicitationMode", ""},
	"CreateElicitationResponse":     {"Action", "ElicitationAction", ""},
	"ElicitationFormMode":           {"Scope", "ElicitationScope", ""},
	"ElicitationUrlMode":            {"Scope", "ElicitationScope", ""},
	"SetSessionConfigOptionRequest": {"Value", "", "SessionConfigOptionValue"},
}

// fallbackTags are tag values that mean the variant which has no tag.
var fallbackTags = map[string][]string{"McpServer": {"stdio"}}

// fallbackAll are the unions in which any unknown tag value means the variant without a tag.
var fallbackAll = map[string]bool{"AuthMethod": true}

// patches are the fields in which absent, null and a value differ.
var patches = map[string][]string{
	"SessionInfoUpdate": {"title", "updatedAt"},
	"CompactionUpdate":  {"summary", "error", "_meta"},
	"SubagentUpdate":    {"title", "description", "capabilities", "state", "cwd", "additionalDirectories", "_meta"},
	"SessionMessage": {
		"senderSessionId", "recipientSessionId", "senderMessageId", "recipientMessageId", "content", "_meta",
	},
}

// emptyStringMeans are the optional strings in which "" and absent differ.
var emptyStringMeans = map[string]bool{
	"Diff.oldText": true, "ListSessionsRequest.cursor": true, "ListSessionsResponse.nextCursor": true,
	"StringPropertySchema.default": true,
}

// absentOK are required arrays that common clients leave out when empty.
var absentOK = map[string]bool{
	"NewSessionRequest.mcpServers": true, "LoadSessionRequest.mcpServers": true, "McpServerHttp.headers": true,
	"McpServerSse.headers": true, "McpServerStdio.args": true, "McpServerStdio.env": true,
}

// pairTypes are the structs of name and value that some clients send as one object of strings.
var pairTypes = map[string]bool{"EnvVariable": true, "HttpHeader": true}

// orderedMaps are the maps whose order matters.
var orderedMaps = map[string]bool{"ElicitationSchema.properties": true}

// alwaysWritten are optional fields that senders must write all the same.
var alwaysWritten = map[string]string{"ElicitationSchema.type": `"object"`, "ElicitationSchema.properties": "{}"}

// decodeWith are the fields that package acp decodes by hand.
var decodeWith = map[string]string{
	"SessionNotification.update": "decodeNotifiedUpdate",
	"ElicitationSchema.type":     "decodeElicitationObject",
}

// gates are the capability paths that a method needs; they start at initialize's params (clientCapabilities) or result (agentCapabilities).
var gates = map[string]string{
	"logout": "agentCapabilities.auth.logout", "auth/status": "agentCapabilities.auth.status",
	"auth/status_update": "agentCapabilities.auth.status",
	"providers/list":     "agentCapabilities.providers", "providers/set": "agentCapabilities.providers",
	"providers/disable": "agentCapabilities.providers",
	"session/load":      "agentCapabilities.loadSession",
	"session/resume":    "agentCapabilities.sessionCapabilities.resume", "session/list": "agentCapabilities.sessionCapabilities.list",
	"session/close": "agentCapabilities.sessionCapabilities.close", "session/delete": "agentCapabilities.sessionCapabilities.delete",
	"session/fork": "agentCapabilities.sessionCapabilities.fork", "session/archive": "agentCapabilities.sessionCapabilities.archive",
	"session/unarchive": "agentCapabilities.sessionCapabilities.archive", "session/status": "agentCapabilities.sessionCapabilities.status",
	"session/set_title": "agentCapabilities.sessionCapabilities.title",
	"fs/read_text_file": "clientCapabilities.fs.readTextFile", "fs/write_text_file": "clientCapabilities.fs.writeTextFile",
	"terminal/create": "clientCapabilities.terminal", "terminal/output": "clientCapabilities.terminal",
	"terminal/wait_for_exit": "clientCapabilities.terminal", "terminal/kill": "clientCapabilities.terminal",
	"terminal/release": "clientCapabilities.terminal", "elicitation/create": "clientCapabilities.elicitation",
	"elicitation/complete": "clientCapabilities.elicitation.url", "mcp/message": "agentCapabilities.mcpCapabilities.acp",
}

// updateGates are the client capabilities that variants of session/update need.
var updateGates = map[string]string{
	"notice": "clientCapabilities.session.notices", "compaction_update": "clientCapabilities.session.compaction",
	"compaction_summary_chunk": "clientCapabilities.session.compaction", "plan_update": "clientCapabilities.plan",
	"plan_removed": "clientCapabilities.plan", "subagent_update": "clientCapabilities.subagents",
	"session_message": "clientCapabilities.subagents", "session_message_chunk": "clientCapabilities.subagents",
}

// constantPrefix is what an enum's constants start with, when it is not the type's name.
var constantPrefix = map[string]string{
	"StopReason": "Stop", "ToolCallStatus": "ToolCall", "PermissionOptionKind": "Permission", "PlanEntryPriority": "PlanPriority",
	"PlanEntryStatus": "Plan", "SessionConfigOptionCategory": "ConfigCategory", "NoticeSeverity": "Notice",
	"CompactionStatus": "Compaction", "ErrorCode": "Code", "ElicitationSchemaType": "ElicitationSchema",
	"IdleStopReason": "IdleStop",
}

// constantNames overrides the name of one constant.
var constantNames = map[string]string{"ErrorCode/Authentication required": "CodeAuthRequired"}
