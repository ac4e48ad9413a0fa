// Made by `npm run generated` from the catalogue of a database with this version's functions.

/** The fields of composite columns, in their order. */
export const composites = {
  claim_head: { request: "int4", outcome: "text", claimed_by: "uuid", claim_token: "uuid", lease_until: "int8" },
  mailbox_rest: { mailbox_id: "uuid", ready: "int4", claimed: "int4", retry_in_ms: "int8", walked_to: "int8" },
} as const;

/** The parameters and columns of each SQL function. */
export const functions = {
  accept_items: {
    parameters: { p_lease_ms: "int4", p_lease_token: "int8", p_pair_key_hashes: "bytea[]", p_pair_target_ids: "uuid[]", p_pair_legacy: "bool[]", p_pair_largest: "int4[]", p_pair_filters: "uuid[]", p_pairs: "int2[]", p_ids: "uuid[]", p_group_ids: "uuid[]", p_group_ends: "int2[]", p_group_items: "int2[]", p_group_immediate: "bool[]", p_sizes: "int4[]", p_payloads: "bytea[]", p_event_types: "text[]", p_correlation_ids: "text[]", p_ordering_keys: "text[]", p_key_digests: "uuid[]", p_body_digests: "uuid[]", p_trace_contexts: "bytea[]", p_differs: "bool[]" },
    columns: { codes: "text", winners: "uuid[]", pair_versions: "int8[]", pair_kinds: "int2[]", pair_held: "bool[]", pair_filters: "text[]" },
  },
  activity_in_steps: {
    parameters: { p_org_id: "uuid", p_target_id: "uuid", p_step: "int4", p_from: "int8", p_to: "int8", p_piece_steps: "int4[]", p_piece_starts: "int8[]", p_piece_ends: "int8[]" },
    columns: { at: "int8", accepted: "int8", delivered: "int8", retried: "int8", failed: "int8", kept: "text", ranges: "text", counts: "text" },
  },
  advance_replay: {
    parameters: { p_replay: "uuid", p_lease_token: "int8", p_target: "uuid", p_from: "uuid", p_to: "uuid", p_is_last: "bool", p_wait_ms: "int4", p_waiting: "int4", p_source_ids: "uuid[]", p_ids: "uuid[]", p_mailbox_retention_ms: "int8" },
    columns: { code: "text", made_ids: "uuid[]", is_finished: "bool" },
  },
  begin_handoff: {
    parameters: { p_row_id: "uuid", p_event_id: "uuid", p_lease_token: "int8" },
    columns: { code: "text", unanswered_since: "int8" },
  },
  billing_state: {
    parameters: { p_status: "text", p_grace_ends_at: "int8", p_now_ms: "int8" },
    columns: { billing_state: "text" },
  },
  cancel_deliveries: {
    parameters: { p_bucket: "int2", p_target: "uuid", p_limit: "int4" },
    columns: { cancel_deliveries: "int4" },
  },
  cancel_event: {
    parameters: { p_org: "uuid", p_id: "uuid", p_mailbox_retention_ms: "int8" },
    columns: { code: "text", kind: "int2", target_id: "uuid", event_type: "text", mailbox_is_freed: "bool" },
  },
  cancel_expired_deliveries: {
    parameters: { p_from: "uuid", p_before: "uuid", p_limit: "int4" },
    columns: { cancel_expired_deliveries: "int4" },
  },
  cancel_leased_deliveries: {
    parameters: { p_bucket: "int2", p_target: "uuid" },
    columns: { cancel_leased_deliveries: "int4" },
  },
  cancel_messages: {
    parameters: { p_bucket: "int2", p_org: "uuid", p_mailbox: "uuid", p_limit: "int4" },
    columns: { cancel_messages: "int4" },
  },
  change_claims: {
    parameters: { p_retention_ms: "int8", p_key_hashes: "bytea[]", p_keys: "int2[]", p_ids: "uuid[]", p_mailbox_ids: "uuid[]", p_claim_tokens: "uuid[]", p_leases_ms: "int4[]", p_delays_ms: "int4[]", p_reasons: "text[]", p_unclaimed: "bool" },
    columns: { codes: "text", freed_mailbox_ids: "uuid[]", now_ms: "int8" },
  },
  claim_deliveries: {
    parameters: { p_lease_ms: "int4", p_lease_token: "int8", p_bucket: "int2", p_target: "uuid", p_skip: "uuid[]", p_wide: "uuid[]", p_limit: "int4", p_per_target: "int4", p_few: "int4", p_max_targets: "int4", p_only: "uuid[]", p_is_traced: "bool" },
    columns: { row_id: "uuid", attempts: "int2", schedule_attempts: "int2", kind: "int2", target_id: "uuid", target_version: "int8", source_event_id: "uuid", webhook_id: "uuid", is_circle_closed: "bool", event_ids: "uuid[]", event_types: "text[]", correlation_ids: "text[]", payloads: "bytea[]", trace_contexts: "bytea[]", publication_ids: "uuid[]" },
  },
  claim_handoff_polls: {
    parameters: { p_lease_ms: "int4", p_lease_token: "int8", p_bucket: "int2", p_target: "uuid", p_skip: "uuid[]", p_limit: "int4", p_per_target: "int4", p_max_targets: "int4" },
    columns: { event_id: "uuid", target_id: "uuid", polls: "int2", missing: "int2", deadline_at: "int8", target_version: "int8", task_id: "text", state: "text", fingerprint: "text", follow_error: "text", changed_at: "int8", is_circle_closed: "bool" },
  },
  claim_messages: {
    parameters: { p_retention_ms: "int8", p_key_hashes: "bytea[]", p_keys: "int2[]", p_mailbox_ids: "uuid[]", p_claim_tokens: "uuid[]", p_maxes: "int2[]", p_leases_ms: "int4[]", p_claim_digests: "bytea[]", p_watermarks: "int8[]" },
    columns: { head: "claim_head", rest: "mailbox_rest", id: "uuid", claim_count: "int4", ordering_key: "text", event_type: "text", correlation_id: "text", payload: "text", trace_context: "bytea", publication_id: "uuid" },
  },
  claim_named_messages: {
    parameters: { p_retention_ms: "int8", p_key_hashes: "bytea[]", p_keys: "int2[]", p_ids: "uuid[]", p_claim_tokens: "uuid[]", p_leases_ms: "int4[]" },
    columns: { request: "int4", code: "text", key_id: "uuid", mailbox_id: "uuid", claim_count: "int4", lease_until: "int8", ordering_key: "text", event_type: "text", correlation_id: "text", payload: "text", trace_context: "bytea" },
  },
  close_messages: {
    parameters: { p_retention_ms: "int8", p_key_hashes: "bytea[]", p_keys: "int2[]", p_ids: "uuid[]", p_mailbox_ids: "uuid[]", p_claim_tokens: "uuid[]", p_reasons: "text[]" },
    columns: { codes: "text", freed_mailbox_ids: "uuid[]" },
  },
  due_targets: {
    parameters: { p_bucket: "int2", p_target: "uuid", p_max_targets: "int4" },
    columns: { target_id: "uuid", org_id: "uuid", is_due: "bool", is_failing: "bool" },
  },
  erase_event: {
    parameters: { p_erasure: "uuid", p_org: "uuid", p_id: "uuid", p_retention_ms: "int8" },
    columns: { code: "text", mailbox_id: "uuid" },
  },
  finish_deliveries: {
    parameters: { p_row_ids: "uuid[]", p_row_tokens: "int8[]", p_row_ends: "int2[]", p_row_delivered: "bool[]", p_event_ids: "uuid[]", p_outcomes: "int2[]", p_delays_ms: "int8[]", p_attempted_at: "int8[]", p_durations_ms: "int4[]", p_status_codes: "int2[]", p_errors: "text[]", p_response_bodies: "bytea[]", p_latencies: "int2[]", p_header_sets: "int4[]" },
    columns: { finish_deliveries: "text" },
  },
  first_id_at: {
    parameters: { p_ms: "int8" },
    columns: { first_id_at: "uuid" },
  },
  fold_activity: {
    parameters: { p_limit: "int4", p_steps: "int4[]", p_published_limit: "int4" },
    columns: { folded: "int4", is_more: "bool" },
  },
  fold_mailbox_activity: {
    parameters: { p_limit: "int4" },
    columns: { fold_mailbox_activity: "int4" },
  },
  fold_mailbox_minutes: {
    parameters: { p_minutes_kept: "int4", p_limit: "int4" },
    columns: { fold_mailbox_minutes: "int4" },
  },
  force_message: {
    parameters: { p_retention_ms: "int8", p_org: "uuid", p_mailbox: "uuid", p_id: "uuid", p_reason: "text", p_user: "uuid", p_email: "text", p_intervention: "uuid" },
    columns: { force_message: "text" },
  },
  is_handoff: {
    parameters: { p_kind: "int2" },
    columns: { is_handoff: "bool" },
  },
  is_pulled: {
    parameters: { p_kind: "int2" },
    columns: { is_pulled: "bool" },
  },
  kind_number: {
    parameters: { p_kind: "text" },
    columns: { kind_number: "int2" },
  },
  matches_event_types: {
    parameters: { p_entries: "text[]", p_event_type: "text" },
    columns: { matches_event_types: "bool" },
  },
  measure_mailboxes: {
    parameters: { p_retention_ms: "int8" },
    columns: { unread: "int8", claimed: "int8", dead: "int8", oldest_seconds: "float8" },
  },
  message_status: {
    parameters: { p_state: "int2", p_claimable_at: "int8", p_claim_count: "int4", p_max_claims: "int4", p_now_ms: "int8" },
    columns: { message_status: "text" },
  },
  note_operational_event: {
    parameters: { p_type: "text", p_org: "uuid", p_target: "uuid", p_event_ids: "uuid[]", p_reason: "text" },
    columns: { note_operational_event: "bool" },
  },
  numbered_id: {
    parameters: { p_id: "uuid", p_number: "int4", p_bucket: "int4" },
    columns: { numbered_id: "uuid" },
  },
  positions_by_clock: {
    parameters: {},
    columns: { positions_by_clock: "bool" },
  },
  publication_payloads: {
    parameters: { p_ids: "uuid[]" },
    columns: { id: "uuid", payload: "bytea" },
  },
  publish_items: {
    parameters: { p_lease_ms: "int4", p_lease_token: "int8", p_room: "int4", p_full_target_ids: "uuid[]", p_most_items: "int4", p_key_hashes: "bytea[]", p_customers: "text[]", p_payloads: "bytea[]", p_sizes: "int4[]", p_event_types: "text[]", p_correlation_ids: "text[]", p_ordering_keys: "text[]", p_key_digests: "uuid[]", p_body_digests: "uuid[]", p_trace_contexts: "bytea[]", p_verdict_numbers: "int2[]", p_verdict_filters: "uuid[]", p_verdict_passed: "bool[]" },
    columns: { number: "int2", code: "text", publication_id: "uuid", item_ids: "uuid[]", target_ids: "uuid[]", kinds: "int2[]", versions: "int8[]", states: "text", row_ids: "uuid[]", filters: "text[]" },
  },
  publish_to_added: {
    parameters: { p_org: "uuid", p_publication: "uuid", p_most_items: "int4", p_verdict_filters: "uuid[]", p_verdict_passed: "bool[]", p_erasure_allowance_ms: "int8" },
    columns: { code: "text", item_ids: "uuid[]", target_ids: "uuid[]", kinds: "int2[]", filters: "text[]" },
  },
  record_handoff: {
    parameters: { p_event_id: "uuid", p_is_acceptance: "bool", p_lease_token: "int8", p_task_id: "text", p_context_id: "text", p_state: "text", p_status_message: "text", p_status_parts: "text", p_artifacts: "text", p_is_truncated: "bool", p_fingerprint: "text", p_follow_error: "text", p_outcome: "text", p_poll_in_ms: "int8", p_deadline_in_ms: "int8", p_result_target: "uuid", p_result_id: "uuid", p_result_type: "text", p_result_payload: "bytea" },
    columns: { record_handoff: "text" },
  },
  redrive_messages: {
    parameters: { p_retention_ms: "int8", p_bucket: "int2", p_mailbox: "uuid", p_ids: "uuid[]", p_limit: "int4" },
    columns: { redrive_messages: "int4" },
  },
  release_deliveries: {
    parameters: { p_row_ids: "uuid[]", p_row_tokens: "int8[]", p_row_ends: "int2[]", p_spare_ids: "uuid[]", p_event_ids: "uuid[]" },
    columns: { release_deliveries: "int4" },
  },
  replay_event: {
    parameters: { p_org: "uuid", p_source: "uuid", p_id: "uuid", p_mailbox_retention_ms: "int8", p_new_webhook_id: "bool" },
    columns: { code: "text", kind: "int2", target_id: "uuid" },
  },
  reschedule_deliveries: {
    parameters: { p_bucket: "int2", p_target: "uuid", p_from_due_at: "int8", p_now_ms: "int8", p_limit: "int4" },
    columns: { changed: "int4", last_due_at: "int8" },
  },
  settle_replayed: {
    parameters: { p_replay_ids: "uuid[]", p_event_ids: "uuid[]", p_delivered: "bool[]", p_in_ms: "int4[]" },
    columns: { settle_replayed: "int4" },
  },
  slot_of: {
    parameters: { p_id: "uuid" },
    columns: { slot_of: "int8" },
  },
  sweep_deliveries: {
    parameters: {},
    columns: { sweep_deliveries: "int4" },
  },
  sweep_handoff_polls: {
    parameters: {},
    columns: { sweep_handoff_polls: "int4" },
  },
  sweep_messages: {
    parameters: { p_retention_ms: "int8", p_limit: "int4" },
    columns: { sweep_messages: "int4" },
  },
  take_permits: {
    parameters: { p_node: "uuid", p_target_ids: "uuid[]", p_permits: "int4[]", p_requests: "int4[]", p_ahead_ms: "int4", p_most_ahead_ms: "int4", p_lease_ms: "int4" },
    columns: { target: "uuid", permits: "int4", first_in_us: "int8", interval_us: "float8", burst: "int4", requests: "int4" },
  },
  tell_operational_events: {
    parameters: { p_limit: "int4", p_pace_ms: "int4" },
    columns: { item_id: "uuid", listener_id: "uuid", listener_kind: "text", event_type: "text", status: "text" },
  },
} as const;
