/**
 * The engine's migrations, in order. The text of a released migration never changes: databases
 * store its checksum.
 */
import { foundations } from './migrations/0001-foundations.ts'
import { tokens } from './migrations/0002-tokens.ts'
import { people } from './migrations/0003-people.ts'
import { oauth } from './migrations/0004-oauth.ts'
import { webhooks } from './migrations/0005-webhooks.ts'
import { versions } from './migrations/0006-versions.ts'
import { personScopes } from './migrations/0007-person-scopes.ts'
import { webhookAuthority } from './migrations/0008-webhook-authority.ts'
import { auditChain } from './migrations/0009-audit-chain.ts'
import { signInProtection } from './migrations/0010-sign-in-protection.ts'
import { secrets } from './migrations/0011-secrets.ts'
import { lists } from './migrations/0013-lists.ts'
import { firstPartyClients } from './migrations/0014-first-party-clients.ts'
import { transactionEpoch } from './migrations/0015-transaction-epoch.ts'
import { operatorRoles } from './migrations/0016-operator-roles.ts'
import { endpointSummaries } from './migrations/0017-endpoint-summaries.ts'
import { requestsOfEvents } from './migrations/0018-requests-of-events.ts'
import { monitoring } from './migrations/0020-monitoring.ts'
import { attention } from './migrations/0021-attention.ts'
import { portal } from './migrations/0022-portal.ts'
import { traceContext } from './migrations/0023-trace-context.ts'
import { lastSignIns } from './migrations/0024-last-sign-ins.ts'
import { jobs } from './migrations/0027-jobs.ts'
import { mail } from './migrations/0028-mail.ts'
import { pinnedWebhooks } from './migrations/0030-pinned-webhooks.ts'
import { jobTurns } from './migrations/0031-job-turns.ts'
import { textIds } from './migrations/0036-text-ids.ts'
import { dueTime } from './migrations/0040-due-time.ts'
import { choreLeases } from './migrations/0041-chore-leases.ts'
import { customerParts } from './migrations/0050-customer-parts.ts'
import { secretResponses } from './migrations/0053-secret-responses.ts'
import { scopesOfRows } from './migrations/0055-scopes-of-rows.ts'
import { staleRows } from './migrations/0060-stale-rows.ts'
import { deliveryQueue } from './migrations/0061-delivery-queue.ts'
import { namesOfPeople } from './migrations/0062-names-of-people.ts'
import { signInNames } from './migrations/0063-sign-in-names.ts'
import { monitoringVolume } from './migrations/0064-monitoring-volume.ts'
import { endedCredentials } from './migrations/0065-ended-credentials.ts'
import { nodes } from './migrations/0070-nodes.ts'
import { factsForOperators } from './migrations/0071-facts-for-operators.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /**
   * Whether releases without the migration can use the database: it adds tables, indexes, and
   * columns that are nullable or have a default. So a rollback to the previous release works.
   */
  readonly additive?: boolean
}

export const migrations: readonly Migration[] = [
  { number: 1, name: 'foundations', sql: foundations },
  { number: 2, name: 'tokens', sql: tokens },
  { number: 3, name: 'people', sql: people },
  { number: 4, name: 'oauth', sql: oauth },
  { number: 5, name: 'webhooks', sql: webhooks },
  { number: 6, name: 'versions', sql: versions },
  { number: 7, name: 'person scopes', sql: personScopes },
  { number: 8, name: 'webhook authority', sql: webhookAuthority },
  { number: 9, name: 'audit chain', sql: auditChain },
  { number: 10, name: 'sign-in protection', sql: signInProtection },
  { number: 11, name: 'secrets', sql: secrets },
  { number: 13, name: 'lists', sql: lists },
  { number: 14, name: 'first-party clients', sql: firstPartyClients },
  { number: 15, name: 'transaction epoch', sql: transactionEpoch, additive: true },
  { number: 16, name: 'operator roles', sql: operatorRoles, additive: true },
  { number: 17, name: 'endpoint summaries', sql: endpointSummaries, additive: true },
  { number: 18, name: 'requests of events', sql: requestsOfEvents, additive: true },
  { number: 20, name: 'monitoring', sql: monitoring, additive: true },
  { number: 21, name: 'attention', sql: attention, additive: true },
  { number: 22, name: 'portal', sql: portal, additive: true },
  { number: 23, name: 'trace context', sql: traceContext, additive: true },
  { number: 24, name: 'last sign-ins', sql: lastSignIns, additive: true },
  { number: 27, name: 'jobs', sql: jobs, additive: true },
  { number: 28, name: 'mail', sql: mail, additive: true },
  { number: 30, name: 'pinned webhooks', sql: pinnedWebhooks, additive: true },
  { number: 31, name: 'job turns', sql: jobTurns, additive: true },
  { number: 36, name: 'text ids', sql: textIds, additive: true },
  { number: 40, name: 'due time', sql: dueTime, additive: true },
  { number: 41, name: 'chore leases', sql: choreLeases, additive: true },
  { number: 50, name: 'customer parts', sql: customerParts, additive: true },
  { number: 53, name: 'secret responses', sql: secretResponses, additive: true },
  { number: 55, name: 'scopes of rows', sql: scopesOfRows, additive: true },
  { number: 60, name: 'stale rows', sql: staleRows, additive: true },
  { number: 61, name: 'delivery queue', sql: deliveryQueue, additive: true },
  { number: 62, name: 'names of people', sql: namesOfPeople, additive: true },
  { number: 63, name: 'sign-in names', sql: signInNames, additive: true },
  { number: 64, name: 'monitoring volume', sql: monitoringVolume, additive: true },
  { number: 65, name: 'ended credentials', sql: endedCredentials, additive: true },
  { number: 70, name: 'nodes', sql: nodes },
  { number: 71, name: 'facts for operators', sql: factsForOperators },
]
