/**
 * Every option in one table (decisions §2.6). The reference page, the flags of the CLI and the type
 * of `Config` follow from it. How a value is read and checked is `values.ts` and `config.ts`.
 */
import * as kind from './values.ts'

export interface Option<T = unknown> {
  readonly env: string
  readonly kind: kind.Kind<T>
  /** As text, parsed like any other; null: not set, and the value is null. */
  readonly fallback: string | null
  /** What the reference says stands in when nothing is set and `fallback` cannot say it. */
  readonly otherwise?: string
  /** Secrets have no flag: any process on the machine can read another's arguments. */
  readonly secret?: true
  readonly sentence: string
}

const PRIVATE = '127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7'
const DAY_S = 86_400

/** Keeps the literal type of `fallback`, which tells whether the value can be null. */
const option = <T, const O extends Option<T>>(row: O & { kind: kind.Kind<T> }): O => row

export const options = {
  host: option({
    env: 'GATEHOOK_HOST',
    kind: kind.host,
    fallback: '127.0.0.1',
    sentence: 'Address to listen on. Plain HTTP is served on loopback addresses only.',
  }),
  port: option({
    env: 'GATEHOOK_PORT',
    kind: kind.port,
    fallback: '8787',
    sentence: 'Port to listen on; 0 takes any free one and prints it.',
  }),
  databaseUrl: option({
    env: 'GATEHOOK_DATABASE_URL',
    kind: kind.databaseUrl,
    fallback: 'sqlite:./data/gatehook.db',
    sentence: 'Where everything is stored: a SQLite file, or PostgreSQL.',
  }),
  publicUrl: option({
    env: 'GATEHOOK_PUBLIC_URL',
    kind: kind.publicUrl,
    fallback: null,
    otherwise: 'the bind address',
    sentence: 'What callers write before the path: the base of absolute links and the issuer.',
  }),
  bootstrapKey: option({
    env: 'GATEHOOK_BOOTSTRAP_KEY',
    kind: kind.liveKey,
    fallback: null,
    secret: true,
    sentence:
      'An API key that becomes the default customer’s admin key, if no admin key ever existed.',
  }),
  accessTokenTtlS: option({
    env: 'GATEHOOK_ACCESS_TOKEN_TTL_S',
    kind: kind.seconds(1, DAY_S),
    fallback: '900',
    sentence: 'How long an access token is good.',
  }),
  refreshTokenTtlS: option({
    env: 'GATEHOOK_REFRESH_TOKEN_TTL_S',
    kind: kind.seconds(1, 3650 * DAY_S),
    fallback: String(14 * DAY_S),
    sentence: 'How long a refresh token is good while nobody uses it.',
  }),
  refreshTokenMaxS: option({
    env: 'GATEHOOK_REFRESH_TOKEN_MAX_S',
    kind: kind.seconds(1, 3650 * DAY_S),
    fallback: String(30 * DAY_S),
    sentence: 'How long a session lives, however often its refresh token rotates.',
  }),
  secretKey: option({
    env: 'GATEHOOK_SECRET_KEY',
    kind: kind.masterSecret,
    fallback: null,
    otherwise: 'SQLite: made on first start, secret.key beside the database; PostgreSQL: required',
    secret: true,
    sentence: 'Master secret that seals secrets at rest and signs cursors. Losing it loses them.',
  }),
  secretKeyPrevious: option({
    env: 'GATEHOOK_SECRET_KEY_PREVIOUS',
    kind: kind.masterSecret,
    fallback: null,
    secret: true,
    sentence:
      'The master secret before GATEHOOK_SECRET_KEY, until `gatehook secrets rotate` has finished.',
  }),
  webhookScheduleS: option({
    env: 'GATEHOOK_WEBHOOK_SCHEDULE_S',
    kind: kind.schedule,
    fallback: '5,300,1800,7200,18000,36000,50400,72000,86400',
    sentence: 'Delays before the second, third, … attempt of a delivery.',
  }),
  webhookTimeoutMs: option({
    env: 'GATEHOOK_WEBHOOK_TIMEOUT_MS',
    kind: kind.milliseconds(1, 120_000),
    fallback: '15000',
    sentence: 'How long one attempt of a delivery may take, response body included.',
  }),
  webhookAllowPrivate: option({
    env: 'GATEHOOK_WEBHOOK_ALLOW_PRIVATE',
    kind: kind.bool,
    fallback: '0',
    sentence:
      'Receivers may have http URLs and private addresses. Development; loopback bind only.',
  }),
  webhookCa: option({
    env: 'GATEHOOK_WEBHOOK_CA',
    kind: kind.filePath,
    fallback: null,
    sentence: 'Extra certificate authorities (PEM) trusted when a receiver is called.',
  }),
  strictVersion: option({
    env: 'GATEHOOK_STRICT_VERSION',
    kind: kind.bool,
    fallback: '0',
    sentence: 'A request that names no version and whose credential has no pin is refused.',
  }),
  defaultPagination: option({
    env: 'GATEHOOK_DEFAULT_PAGINATION',
    kind: kind.oneOf(['cursor', 'keyset', 'page', 'offset', 'hypermedia']),
    fallback: 'cursor',
    sentence: 'The list style when a request chooses none.',
  }),
  testClock: option({
    env: 'GATEHOOK_TEST_CLOCK',
    kind: kind.bool,
    fallback: '0',
    sentence: 'The clock can be set forward (gatehook clock). Tests; loopback bind only.',
  }),
  rateLimit: option({
    env: 'GATEHOOK_RATE_LIMIT',
    kind: kind.rate,
    fallback: '1000/60',
    sentence: 'Requests per credential in a number of seconds; 0 switches the limit off.',
  }),
  refreshGraceS: option({
    env: 'GATEHOOK_REFRESH_GRACE_S',
    kind: kind.seconds(0, 60),
    fallback: '0',
    sentence: 'For how long a refresh token just rotated still returns its successor.',
  }),
  basicAllowedCidrs: option({
    env: 'GATEHOOK_BASIC_ALLOWED_CIDRS',
    kind: kind.cidrs,
    fallback: PRIVATE,
    sentence: 'From where Basic credentials are accepted; set but empty: from nowhere.',
  }),
  audience: option({
    env: 'GATEHOOK_AUDIENCE',
    kind: kind.text,
    fallback: null,
    otherwise: 'GATEHOOK_PUBLIC_URL',
    sentence: 'The aud of access tokens.',
  }),
  trustProxy: option({
    env: 'GATEHOOK_TRUST_PROXY',
    kind: kind.cidrs,
    fallback: '',
    sentence: 'Proxies whose forwarded headers are believed; they terminate TLS.',
  }),
  tlsCert: option({
    env: 'GATEHOOK_TLS_CERT',
    kind: kind.filePath,
    fallback: null,
    sentence: 'Certificate chain (PEM) when the process serves TLS itself; read again on change.',
  }),
  tlsKey: option({
    env: 'GATEHOOK_TLS_KEY',
    kind: kind.filePath,
    fallback: null,
    sentence: 'Private key (PEM) of the certificate.',
  }),
  corsOrigins: option({
    env: 'GATEHOOK_CORS_ORIGINS',
    kind: kind.origins,
    fallback: '',
    sentence: 'Origins whose pages may call the API from a browser.',
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
  drainDelayS: option({
    env: 'GATEHOOK_DRAIN_DELAY_S',
    kind: kind.seconds(0, 300),
    fallback: null,
    otherwise: 'SQLite: 0; PostgreSQL: 5',
    sentence:
      'How long /readyz answers 503 after SIGTERM while requests are still accepted; longer than ' +
      'a balancer takes to notice.',
  }),
  logLevel: option({
    env: 'GATEHOOK_LOG_LEVEL',
    kind: kind.oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    fallback: 'info',
    sentence: 'The least severe line that is logged.',
  }),
} as const

/** Read by commands that call a running node; known to the service, which has no use for them. */
export const commandVariables: readonly (readonly [name: string, sentence: string])[] = [
  [
    'GATEHOOK_API_KEY',
    'The key of commands with `--url`. `webhooks`, `events`, `trigger`, `listen` always use it.',
  ],
]

export type OptionName = keyof typeof options

/** `GATEHOOK_TRUST_PROXY` → `--trust-proxy`; undefined for secrets. */
export const flagOf = (row: Option): string | undefined =>
  row.secret
    ? undefined
    : `--${row.env.slice('GATEHOOK_'.length).toLowerCase().replaceAll('_', '-')}`

/** The table as a list, in its order. */
export const optionList = Object.entries(options) as [OptionName, Option][]
