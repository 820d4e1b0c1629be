/** The operations on the service and its nodes: `/`, probes, metrics, audit trail, test clock. */
import { auditActions } from '../../history/audit/actions.ts'
import { signingKeyState } from '../../identity/tokens/operations.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { restoreMember } from '../restore/operations.ts'
import { clockChange, clockState } from './clock.ts'

const link = (path: string) => b.text().describe('A path.').example(path)

const serviceLinks = b
  .object({
    name: b.text().describe('The name of the service.').example('Example API'),
    versions: b.list(b.text()).describe('The versions, oldest first.').example(['v1', 'v2']),
    links: b
      .openObject({
        self: link('/'),
        api: b
          .map(b.map(b.text()))
          .describe('The paths of the collections by version.')
          .example({ v2: { things: '/api/v2/things' } }),
        openapi: b
          .map(b.text())
          .describe('The OpenAPI documents by version.')
          .example({ v2: '/openapi/v2.json' }),
        healthz: link('/healthz'),
        readyz: link('/readyz'),
        metrics: link('/metrics'),
      })
      .describe('Paths, which are valid behind any proxy. Pages follow by name.'),
  })
  .named('Service')

/** The requests that a load balancer sends to a node: all, or only those without writes. */
const PURPOSES = ['write', 'read'] as const

const UNREADY_REASON = {
  check: 'writes',
  message: 'The database does not accept writes at the moment.',
}

const SKEWED = "The clock of this node is 3.2 s ahead of the database's. Synchronise both."

const unreadyReason = b.object({
  check: b.text().describe('The name of the check.').example(UNREADY_REASON.check),
  message: b.text().example(UNREADY_REASON.message),
})

const readiness = b
  .object({
    status: b.oneOf(['ready', 'not_ready']),
    reasons: b
      .list(unreadyReason)
      .describe('Why the node is not ready; empty if it is.')
      .example([]),
    warnings: b
      .list(
        b.object({
          check: b.text().describe('The name of the check.').example('clock'),
          message: b.text().example(SKEWED),
        }),
      )
      .optional()
      .describe('Faults that the node tolerates; absent without any.'),
  })
  .named('Readiness')

const READY = { status: 'ready', reasons: [] } as const

/** The members of `GET /admin/system` that modules contribute, each by a function of its name. */
const figures = {
  keys: b.int(0).describe('The API keys that are not revoked, at most 100,000.').example(12),
  nodes: b
    .list(
      b.object({
        id: b.text().describe('The id of the process.').example('5f2c81d09be34a67'),
        name: b.text().describe('The name of the node: `GATEHOOK_NODE_NAME`.').example('api-1'),
        role: b.oneOf(['all', 'serve', 'deliver']).describe('The work of the node.'),
        state: b
          .oneOf(['ready', 'not_ready', 'gone'])
          .describe('`gone`: it has not reported for 45 s.'),
        reasons: b
          .list(unreadyReason)
          .describe('Why it is not ready, as it has reported; empty if it is.')
          .example([]),
        since: b.time().describe('The start of the process.'),
        seen_at: b.time().describe('Its last report.'),
        release: b.text().describe('The release of Gatehook.').example('0.1.0'),
      }),
    )
    .describe('The nodes, the answering one first.'),
  node_differences: b
    .list(
      b.object({
        kind: b.oneOf(['option', 'declaration']).describe('What differs.'),
        name: b
          .text()
          .describe('The variable; or the resource, `service` for all else of the declaration.')
          .example('GATEHOOK_TRUST_PROXY'),
        values: b
          .list(
            b.object({
              value: b
                .text()
                .nullable()
                .describe('Null for a secret, a digest for a declaration, `none` without a value.')
                .example('10.0.0.0/8'),
              nodes: b.list(b.text()).describe('The names of the nodes.').example(['api-1']),
            }),
          )
          .describe('The values, each with its nodes.'),
        columns: b
          .list(b.text())
          .describe('Columns of the resource that some of the nodes lack, or use differently.')
          .example([]),
      }),
    )
    .describe('Options and parts of the declaration that differ between the nodes that run.')
    .example([]),
  queue: b
    .object({
      waiting: b.int(0).describe('Waiting deliveries, at most 100,000.').example(0),
      waiting_is_bound: b.bool().describe('Whether more deliveries wait.').example(false),
      oldest_at: b
        .time()
        .nullable()
        .describe(
          'When the oldest delivery became due that waits for a node, and for no receiver or ' +
            'customer; null without one.',
        ),
      in_flight: b.int(0),
      rate_per_s: b.number().describe('Attempts in a second, of the last minute.').example(1.5),
    })
    .describe('The queue of deliveries.'),
  storage: b
    .object({
      bytes: b.int(0).describe('The size of the database.').example(1_048_576),
      monitoring_bytes: b.int(0).describe('The size of the request log.').example(262_144),
      migrations: b.int(0).describe('The applied migrations of the engine.').example(24),
    })
    .describe('The database.'),
  index_builds: b
    .list(
      b.object({
        name: b.text().describe('The name of the index.').example('things_by_size'),
        table: b.text().describe('The name of its table.').example('things'),
        phase: b
          .text()
          .nullable()
          .describe('The step of the database; null while no node creates it.')
          .example('building index: scanning table'),
        progress: b.number().describe('The completed part, 0 to 1; an estimate.').example(0.35),
        waits_for: b
          .int(0)
          .nullable()
          .describe('The process of the database with a transaction that must end first.')
          .example(null),
      }),
    )
    .describe('Indexes that the declaration requires and PostgreSQL does not have yet.'),
  jobs: b
    .list(
      b.object({
        name: b.text().describe('The name of the job.').example('quota'),
        last_at: b.time().describe('The end of its last run.'),
        took_ms: b.int(0),
        ok: b.bool().describe('Whether it succeeded.').example(true),
        rows: b.int(0).nullable().describe('The purged rows; null after a failure.').example(0),
      }),
    )
    .describe('The last run of each background job of the answering node.'),
  request_log: b
    .object({
      mode: b.oneOf(['off', 'errors', 'all']).describe('The requests that the log records.'),
      stored: b.int(0).describe('Requests that the log stores.').example(420),
      sampled: b.int(0).describe('Successful requests beyond 500 in a second.').example(0),
      dropped: b.int(0).describe('Requests that the store could not receive in time.').example(0),
    })
    .describe('Requests since the start of the answering node.'),
  restore: restoreMember.describe('The quarantine of restored data.'),
  signing_keys: b
    .list(signingKeyState)
    .describe('The keys of access tokens, in the order in which they sign.'),
}

const systemReport = b
  .object({
    health: readiness.describe('The health of the answering node.').example(READY),
    release: b.text().describe('The release of Gatehook.').example('0.1.0'),
    node: b.text().describe('The version of Node.js.').example('v26.0.0'),
    now: b.time().describe('The time of the service.'),
    uptime_s: b.int(0).describe('Seconds since the start of the process.').example(3600),
    database: b.oneOf(['sqlite', 'postgres']).describe('The kind of the database.'),
    ...figures,
    configuration: b
      .list(
        b.object({
          name: b.text().describe('The environment variable.').example('GATEHOOK_PORT'),
          value: b
            .text()
            .nullable()
            .describe('Null: not set. For a secret, only `set`.')
            .example('8080'),
          source: b.oneOf(['default', 'environment', 'flag']).describe('Where it was set.'),
          secret: b.bool().describe('Whether the value is a secret.').example(false),
        }),
      )
      .describe('Every option, without secrets.'),
  })
  .named('System')

type SystemReport = JsonOf<typeof systemReport>
export type ConfigurationReport = SystemReport['configuration']

/** The figures of an installation. */
export type SystemFigures = Pick<SystemReport, keyof typeof figures>

export const systemOperations = {
  read: operation('GET /admin/system', {
    id: 'get_system',
    summary: 'Read health, nodes, queue, keys and configuration of the installation',
    output: systemReport,
  }),
}

export const probeOperations = {
  links: operation('GET /', {
    id: 'get_service',
    tag: 'service',
    summary: 'Read the name, versions and links of the service',
    output: serviceLinks,
  }),
  liveness: operation('GET /healthz', {
    id: 'get_liveness',
    tag: 'service',
    summary: 'Read whether the process runs',
    output: b.object({ status: b.oneOf(['ok']) }),
  }),
  readiness: operation('GET /readyz', {
    id: 'get_readiness',
    tag: 'service',
    summary: 'Read whether a load balancer should send requests to the node',
    query: {
      for: b
        .oneOf(PURPOSES)
        .optional()
        .describe('The requests to send: `read` for those without writes. Default `write`: all.'),
    },
    output: readiness,
    otherStatus: {
      status: 503,
      returns: 'The node is not ready.',
      example: { status: 'not_ready', reasons: [UNREADY_REASON] },
    },
  }),
  metrics: operation('GET /metrics', {
    id: 'get_metrics',
    tag: 'service',
    summary: 'Read the metrics of the node for Prometheus',
    produces: 'text/plain',
    returns: 'The text format of Prometheus.',
    errors: ['unauthorized', 'insufficient_scope'],
  }),
}

export const auditEntry = b
  .object({
    id: b.text().describe('The id of the entry.').example('aud_01jdq8w9vgk7'),
    at: b.time(),
    actor_kind: b.text().describe('The kind of the caller.').example('operator'),
    actor_id: b.text().describe('The id of the caller.').example('ada@example.com'),
    action: b.openSet(Object.keys(auditActions)).describe('The operation.').example('key.create'),
    target: b.text().describe('The object of the operation.').example('key_01jdq8w9vgk7'),
    address: b.text().nullable(),
    request_id: b.text().nullable(),
    detail: b.anyObject().describe('The details of the operation, without secrets.').example({}),
    seq: b.int(1).nullable().describe('The place in the hash chain.').example(42),
    hash: b.text().nullable().describe('The HMAC of the entry.').example('9f86d081884c7d65'),
    previous_hash: b
      .text()
      .nullable()
      .describe('The hash of the entry before it.')
      .example('60303ae22b998861'),
    actor_name: b.text().nullable().describe('The name of the caller.').example('Ada Okafor'),
    node: b
      .text()
      .nullable()
      .describe('The name of the node that performed the operation.')
      .example('api-1'),
    principal: b
      .object({
        kind: b.text().example('operator'),
        id: b.text().example('ada@example.com'),
        name: b.text().nullable().example('Ada Okafor'),
      })
      .describe('The caller.'),
  })
  .named('AuditEntry')
  .columns({
    at: { title: 'time', as: 'time' },
    action: { title: 'operation', as: 'code' },
    principal: { title: 'by', as: 'who' },
    target: { as: 'code', isWide: true },
    address: { title: 'from', as: 'code' },
    request_id: { title: 'request', as: 'code' },
    node: {},
  })

export const auditOperations = {
  list: operation('GET /admin/audit', {
    id: 'list_audit_entries',
    summary: 'List the audit trail of the installation',
    query: {
      after: b
        .int(0)
        .optional()
        .describe(
          'Lists the entries after this `seq`, in the order of `seq`: the trail without gaps, ' +
            'entries that commit late included.',
        ),
    },
    output: b.page(auditEntry),
  }),
  stream: operation('GET /admin/audit/stream', {
    id: 'stream_audit_entries',
    summary: 'Follow the audit trail as server-sent events',
    query: {
      after: b
        .int(0)
        .optional()
        .describe('Begins after this `seq`; default: after the newest entry.'),
    },
    headers: ['Last-Event-ID'],
    produces: 'text/event-stream',
    returns: 'One message per entry: its `seq` as the id, and the entry as JSON.',
    errors: ['rate_limited'],
  }),
}

export const clockOperations = {
  read: operation('GET /admin/clock', {
    id: 'get_clock',
    summary: 'Read the test clock',
    output: clockState,
    errors: ['not_found'],
  }),
  set: operation('POST /admin/clock', {
    id: 'set_clock',
    summary: 'Set, advance or freeze the test clock',
    input: clockChange,
    headers: ['Idempotency-Key'],
    output: clockState,
    errors: ['not_found', 'clock_backwards'],
  }),
}
