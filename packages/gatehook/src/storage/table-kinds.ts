/**
 * Where the rows of each table of the engine are stored when the tables are distributed over
 * several servers (decision 0056). A test fails for a table that is missing here.
 *
 * - `scope`: grows with requests, and is distributed by its column `scope`: all rows of one
 *   customer and mode are on one server. A statement of a request names the scope. Tables of
 *   resources are of this kind.
 * - `reference`: small and read with rows of every scope, so that each server has a copy. Three are
 *   routes from a text to its scope: the hash of a key, the id of a client, the name of a person.
 * - `local`: on the coordinator alone. No statement joins them with rows of a scope.
 */
export type TableKind = 'scope' | 'reference' | 'local'

export const tableKinds: Readonly<Record<string, TableKind>> = {
  gh_api_key_secrets: 'reference',
  gh_api_keys: 'scope',
  gh_attention_delays: 'local',
  gh_audit: 'local',
  gh_audit_chain: 'local',
  gh_audit_keys: 'local',
  gh_chore_leases: 'local',
  gh_client_secrets: 'reference',
  gh_clients: 'reference',
  gh_computed_fills: 'local',
  gh_consents: 'scope',
  gh_console_links: 'local',
  gh_console_sessions: 'local',
  gh_counters: 'scope',
  gh_customers: 'reference',
  gh_deliveries: 'scope',
  gh_delivery_leases: 'local',
  gh_delivery_nodes: 'local',
  gh_delivery_parts: 'local',
  gh_delivery_queue: 'scope',
  gh_derivations: 'local',
  gh_event_bodies: 'scope',
  gh_events: 'scope',
  gh_idempotency: 'scope',
  gh_jobs: 'local',
  gh_known_clients: 'local',
  gh_mail: 'local',
  gh_mail_tokens: 'local',
  gh_migrations: 'local',
  gh_monitoring_deliveries: 'local',
  gh_monitoring_errors: 'local',
  gh_monitoring_nodes: 'local',
  gh_monitoring_requests: 'local',
  gh_monitoring_series: 'local',
  gh_move: 'local',
  gh_move_changes: 'local',
  gh_move_keys: 'local',
  gh_move_tables: 'local',
  gh_oauth_codes: 'scope',
  gh_operator_recovery_codes: 'local',
  gh_operators: 'local',
  gh_people: 'reference',
  gh_portal_links: 'local',
  gh_portal_sessions: 'local',
  gh_quota: 'local',
  gh_retired_keys: 'local',
  gh_revocations: 'local',
  gh_search_indexes: 'local',
  gh_service_additions: 'local',
  gh_service_migrations: 'local',
  gh_sessions: 'scope',
  gh_settings: 'local',
  gh_sign_ins: 'local',
  gh_signing_keys: 'local',
  gh_stale_rows: 'scope',
  gh_throttle: 'local',
  gh_version_notices: 'scope',
  gh_version_usage: 'scope',
  gh_versions: 'local',
  gh_webhook_outcomes: 'scope',
  gh_webhook_replays: 'scope',
  gh_webhook_secrets: 'scope',
  gh_webhook_topics: 'scope',
  gh_webhooks: 'scope',
}
