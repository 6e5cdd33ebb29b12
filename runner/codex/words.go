package codex

// Words contains the keywords of the rollout format, separated by white space. They must not be
// masked as secrets, because then the CLI could not read its rollouts.
const Words = `timestamp ordinal type payload metadata session_meta session_id id cwd runtime_workspace_roots originator cli_version
	source exec thread_source user model_provider raymond base_instructions history_mode history_base paginated forked_from_id
	forked_from_ordinal_exclusive context_window window_id dynamic_tools multi_agent_version account_scoped
	event_msg task_started task_complete turn_id turn_context root_turn_id turn_trigger turn_attribution thread_id thread_settings thread_settings_applied
	item_completed item UserMessage AgentMessage FileChange CommandExecution started_at_ms completed_at_ms started_at completed_at
	response_item message role developer assistant content input_text output_text text text_elements reasoning encrypted_content summary
	additional_tools tools namespace functions custom function name description parameters custom_tool_call custom_tool_call_output
	function_call function_call_output call_id input arguments output world_state state full approval_policy never sandbox_policy permission_profile
	file_system model effort token_count info total_token_usage last_token_usage input_tokens cached_input_tokens cache_write_input_tokens
	output_tokens reasoning_output_tokens total_tokens rate_limits token_usage_record usage response_id compacted history_sequence
	internal_chat_message_metadata_passthrough retained_source revision last_agent_message model_context_window collaboration_mode`
