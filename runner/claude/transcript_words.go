package claude

// Words are words that occur in the CLI's transcripts. They must not be masked as secrets, because then
// the CLI could not read the transcripts any more.
const Words = `assistant message content tool_use tool_result tool_use_id thinking redacted_thinking signature text_delta
	parentUuid logicalParentUuid isSidechain userType external sessionId session_id version gitBranch requestId timestamp
	toolUseResult queue-operation operation enqueue dequeue summary leafUuid file-history-snapshot messageId snapshot attachment
	stop_reason stop_sequence end_turn max_tokens input_tokens output_tokens cache_creation cache_creation_input_tokens
	cache_read_input_tokens ephemeral_5m_input_tokens ephemeral_1h_input_tokens service_tier standard server_tool_use
	isApiErrorMessage isCompactSummary isVisibleInTranscriptOnly compact_boundary compactMetadata permissionMode promptId entrypoint sdk-cli
	last-prompt lastPrompt parent_tool_use_id ai-title inference_geo web_search_requests web_fetch_requests iterations`
