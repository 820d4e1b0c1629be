/**
 * The table of all options (§2.6). The reference page, the flags of the CLI and the type of
 * `Config` follow from it. `values.ts` parses the values, `config.ts` checks the rules between
 * them.
 */
import { databaseOptions } from './database-options.ts'
import { type Option, option } from './option.ts'
import { signInOptions } from './sign-in-options.ts'
import * as kind from './values.ts'

const PRIVATE = '127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7'
const DAY_S = 86_400

export const options = {
  host: option({
    env: 'GATEHOOK_HOST',
    kind: kind.host,
    fallback: '127.0.0.1',
    perNode: true,
    sentence: 'Address to listen on. Plain HTTP is served on loopback addresses only.',
  }),
  port: option({
    env: 'GATEHOOK_PORT',
    kind: kind.port,
    fallback: '8787',
    perNode: true,
    sentence: 'Port to listen on; 0 selects a free port and prints it.',
  }),
  internal: option({
    env: 'GATEHOOK_INTERNAL',
    kind: kind.hostAndPort,
    fallback: null,
    otherwise: 'no second listener',
    perNode: true,
    sentence:
      'Address of a second listener for a private network: plain HTTP for any Host, with ' +
      '`POST /keys/verify`, introspection, `POST /events`, JWKS, probes and metrics only.',
  }),
  ...databaseOptions,
  publicUrl: option({
    env: 'GATEHOOK_PUBLIC_URL',
    kind: kind.publicUrl,
    fallback: null,
    otherwise: 'the bind address',
    sentence:
      'The URL of the API: the base of absolute links and the issuer. With a path only where an ' +
      'application mounts it (`gatehook/server`).',
  }),
  bootstrapKey: option({
    env: 'GATEHOOK_BOOTSTRAP_KEY',
    kind: kind.liveKey,
    fallback: null,
    secret: true,
    perNode: true,
    sentence:
      'An API key that becomes the default customer’s admin key, if no admin key ever existed.',
  }),
  accessTokenTtlS: option({
    env: 'GATEHOOK_ACCESS_TOKEN_TTL_S',
    kind: kind.seconds(1, DAY_S),
    fallback: '900',
    sentence: 'Lifetime of an access token.',
  }),
  refreshTokenTtlS: option({
    env: 'GATEHOOK_REFRESH_TOKEN_TTL_S',
    kind: kind.seconds(1, 3650 * DAY_S),
    fallback: String(14 * DAY_S),
    sentence: 'Lifetime of a refresh token that is not used.',
  }),
  refreshTokenMaxS: option({
    env: 'GATEHOOK_REFRESH_TOKEN_MAX_S',
    kind: kind.seconds(1, 3650 * DAY_S),
    fallback: String(30 * DAY_S),
    sentence: 'Maximum lifetime of a session, regardless of refreshes.',
  }),
  secretKey: option({
    env: 'GATEHOOK_SECRET_KEY',
    kind: kind.masterSecret,
    fallback: null,
    otherwise:
      'SQLite: created on first start, secret.key beside the database; PostgreSQL: required',
    secret: true,
    perNode: true,
    sentence:
      'Master secret that encrypts secrets at rest and signs cursors. Without it, they are lost.',
  }),
  secretKeyPrevious: option({
    env: 'GATEHOOK_SECRET_KEY_PREVIOUS',
    kind: kind.masterSecret,
    fallback: null,
    secret: true,
    perNode: true,
    sentence:
      'The master secret before GATEHOOK_SECRET_KEY, until `gatehook secrets rotate` has finished.',
  }),
  webhookScheduleS: option({
    env: 'GATEHOOK_WEBHOOK_SCHEDULE_S',
    kind: kind.schedule,
    fallback: '5,300,1800,7200,18000,36000,50400,72000,86400',
    sentence: 'Delays in seconds before the second, third, … attempt of a delivery.',
  }),
  webhookTimeoutMs: option({
    env: 'GATEHOOK_WEBHOOK_TIMEOUT_MS',
    kind: kind.milliseconds(1, 120_000),
    fallback: '15000',
    sentence: 'Time limit of one delivery attempt, response body included.',
  }),
  webhookAllowPrivate: option({
    env: 'GATEHOOK_WEBHOOK_ALLOW_PRIVATE',
    kind: kind.bool,
    fallback: '0',
    sentence:
      'Allows receivers with http URLs and private addresses. For development; loopback bind only.',
  }),
  webhookCa: option({
    env: 'GATEHOOK_WEBHOOK_CA',
    kind: kind.filePath,
    fallback: null,
    perNode: true,
    sentence: 'Additional certificate authorities (PEM) for deliveries.',
  }),
  strictVersion: option({
    env: 'GATEHOOK_STRICT_VERSION',
    kind: kind.bool,
    fallback: '0',
    sentence: 'Rejects requests that name no version and whose credential has no pinned version.',
  }),
  defaultPagination: option({
    env: 'GATEHOOK_DEFAULT_PAGINATION',
    kind: kind.oneOf(['cursor', 'keyset', 'page', 'offset', 'hypermedia']),
    fallback: 'cursor',
    sentence: 'The pagination style of requests that name none.',
  }),
  testClock: option({
    env: 'GATEHOOK_TEST_CLOCK',
    kind: kind.bool,
    fallback: '0',
    sentence: 'Allows `gatehook clock` to set the clock forward. For tests; loopback bind only.',
  }),
  rateLimit: option({
    env: 'GATEHOOK_RATE_LIMIT',
    kind: kind.rate,
    fallback: '1000/60',
    sentence: 'Requests per credential in a number of seconds; 0 disables the limit.',
  }),
  refreshGraceS: option({
    env: 'GATEHOOK_REFRESH_GRACE_S',
    kind: kind.seconds(0, 60),
    fallback: '0',
    sentence:
      'Time after a rotation in which the previous refresh token still returns its successor.',
  }),
  basicAllowedCidrs: option({
    env: 'GATEHOOK_BASIC_ALLOWED_CIDRS',
    kind: kind.cidrs,
    fallback: PRIVATE,
    sentence: 'Addresses that may send Basic credentials; an empty list disables Basic.',
  }),
  ...signInOptions,
  trustProxy: option({
    env: 'GATEHOOK_TRUST_PROXY',
    kind: kind.cidrs,
    fallback: '',
    sentence: 'Trusted proxies: they terminate TLS, and their forwarded headers count.',
  }),
  tlsCert: option({
    env: 'GATEHOOK_TLS_CERT',
    kind: kind.filePath,
    fallback: null,
    perNode: true,
    sentence: 'Certificate chain (PEM) of the server; reloaded after a change.',
  }),
  tlsKey: option({
    env: 'GATEHOOK_TLS_KEY',
    kind: kind.filePath,
    fallback: null,
    perNode: true,
    sentence: 'Private key (PEM) of the certificate.',
  }),
  mcp: option({
    env: 'GATEHOOK_MCP',
    kind: kind.oneOf(['on', 'off']),
    fallback: 'on',
    sentence: 'Whether agents use the API by the Model Context Protocol at `/mcp`.',
  }),
  corsOrigins: option({
    env: 'GATEHOOK_CORS_ORIGINS',
    kind: kind.origins,
    fallback: '',
    sentence: 'Origins whose pages may call the API from a browser.',
  }),
  portalFrameAncestors: option({
    env: 'GATEHOOK_PORTAL_FRAME_ANCESTORS',
    kind: kind.origins,
    fallback: '',
    sentence: 'Origins whose pages may frame the portal; empty: none.',
  }),
  portalName: option({
    env: 'GATEHOOK_PORTAL_NAME',
    kind: kind.title,
    fallback: null,
    otherwise: 'the name of the service',
    sentence: 'The name of the API on the pages of the portal.',
  }),
  portalLogo: option({
    env: 'GATEHOOK_PORTAL_LOGO',
    kind: kind.filePath,
    fallback: null,
    perNode: true,
    sentence: 'A logo on the pages of the portal: PNG, JPEG, WebP or SVG of at most 128 KiB.',
  }),
  portalAccent: option({
    env: 'GATEHOOK_PORTAL_ACCENT',
    kind: kind.colour,
    fallback: null,
    sentence: 'The colour of links on the pages of the portal; a contrast of at least 4.5.',
  }),
  deliveryRate: option({
    env: 'GATEHOOK_DELIVERY_RATE',
    kind: kind.burstRate,
    fallback: '100/1 burst 200',
    sentence: 'Webhook deliveries per customer in a number of seconds.',
  }),
  auditRetentionDays: option({
    env: 'GATEHOOK_AUDIT_RETENTION_DAYS',
    kind: kind.days(0, 36_500),
    fallback: '0',
    sentence: 'Age at which audit rows are purged; 0 retains them forever.',
  }),
  requestLog: option({
    env: 'GATEHOOK_REQUEST_LOG',
    kind: kind.oneOf(['off', 'errors', 'all']),
    fallback: 'all',
    sentence: 'The requests that the request log of the console stores.',
  }),
  requestLogDays: option({
    env: 'GATEHOOK_REQUEST_LOG_DAYS',
    kind: kind.days(1, 365),
    fallback: '7',
    sentence: 'Age at which logged requests are deleted.',
  }),
  requestLogMaxRows: option({
    env: 'GATEHOOK_REQUEST_LOG_MAX_ROWS',
    kind: kind.rows(1000, 1_000_000_000),
    fallback: '5000000',
    sentence: 'Logged requests beyond this number are deleted, the oldest first.',
  }),
  requestLogMaxMib: option({
    env: 'GATEHOOK_REQUEST_LOG_MAX_MIB',
    kind: kind.mebibytes(256, 1_048_576),
    fallback: '2048',
    sentence:
      'Size of the file or the tables of the request log in MiB; the oldest requests leave.',
  }),
  requestLogBodies: option({
    env: 'GATEHOOK_REQUEST_LOG_BODIES',
    kind: kind.oneOf(['off', 'errors']),
    fallback: 'errors',
    sentence:
      'Whether the log stores headers and bodies of failed requests, without secrets and up to ' +
      '4 KiB each; never those of /auth, /oauth and /console, nor of a client without a ' +
      'credential whose response was 401, 403 or 429.',
  }),
  drainDelayS: option({
    env: 'GATEHOOK_DRAIN_DELAY_S',
    kind: kind.seconds(0, 300),
    fallback: null,
    otherwise: 'SQLite: 0; PostgreSQL: 5',
    sentence:
      'Time after SIGTERM in which /readyz returns 503 and requests are still accepted; longer ' +
      'than a load balancer takes to detect it.',
  }),
  otelExporterOtlpEndpoint: option({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    kind: kind.webUrl,
    fallback: null,
    perNode: true,
    sentence:
      'Base URL of an OpenTelemetry receiver (OTLP over HTTP), which gets traces; none: no traces.',
  }),
  otelTracesSamplerArg: option({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    kind: kind.share,
    fallback: '1',
    sentence: 'The share of traces that are recorded, unless `traceparent` of a request decides.',
  }),
  nodeName: option({
    env: 'GATEHOOK_NODE_NAME',
    kind: kind.nodeName,
    fallback: null,
    otherwise: 'the name of the host',
    perNode: true,
    sentence:
      'Name of this node in logs, metrics, the console and the audit trail. Nodes of one host ' +
      'need different names.',
  }),
  logLevel: option({
    env: 'GATEHOOK_LOG_LEVEL',
    kind: kind.oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    fallback: 'info',
    perNode: true,
    sentence: 'The lowest level that is logged.',
  }),
} as const

export type OptionName = keyof typeof options

/** Returns the flag of an option, for example `--trust-proxy`; undefined for a secret. */
export const flagOf = (row: Option): string | undefined =>
  row.secret
    ? undefined
    : `--${row.env
        .replace(/^GATEHOOK_/, '')
        .toLowerCase()
        .replaceAll('_', '-')}`

/** The rows of the table, in order. */
export const optionList = Object.entries(options) as [OptionName, Option][]
