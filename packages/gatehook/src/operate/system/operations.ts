/** The operations on the service and its nodes: `/`, probes, metrics, audit trail, test clock. */
import { auditActions } from '../../history/audit/actions.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { clockChange, clockState } from './clock.ts'
import { figures, UNREADY_REASON, unreadyReason } from './figures.ts'

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

const SKEWED = "The clock of this node is 3.2 s ahead of the database's. Synchronise both."

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
        b
          .object({
            name: b.text().describe('The environment variable.').example('GATEHOOK_PORT'),
            value: b
              .text()
              .nullable()
              .describe('Null: not set. For a secret, only `set`.')
              .example('8080'),
            source: b.oneOf(['default', 'environment', 'flag']).describe('Where it was set.'),
            secret: b.bool().describe('Whether the value is a secret.').example(false),
          })
          .named('ConfigurationOption')
          .columns({
            name: { title: 'option', as: 'code' },
            value: { as: 'code', none: 'not set', isWide: true },
            source: {},
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
    countsCaller: 'apart',
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
    request_id: { title: 'request', as: 'code', none: 'none: a command or the engine' },
    node: {},
    id: { isFact: true },
    seq: { title: 'place in the chain', none: 'not yet in the chain', isFact: true },
    hash: { as: 'code', isFact: true },
    previous_hash: { as: 'code', isFact: true },
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
