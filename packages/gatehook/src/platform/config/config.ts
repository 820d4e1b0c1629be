/**
 * Parses the configuration from texts, checks the rules between options, and reports all mistakes
 * together. Pure; `environment.ts` reads the process environment and files.
 */
import { isLoopback } from '../../kernel/address.ts'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import { pathOfUrl } from '../../kernel/uri.ts'
import { accentContrast, CONTRAST_MIN } from './accent.ts'
import type { Option } from './option.ts'
import { checkNames } from './option-names.ts'
import { flagOf, type OptionName, optionList, options } from './options.ts'
import { filePath, type ValueKind } from './values.ts'

type ValueOf<O> = O extends { kind: ValueKind<infer T>; fallback: infer F }
  ? T | (F extends null ? null : never)
  : never

/** Every option by its name in camelCase; `null` if it is not set (see `options.ts`). */
export type Settings = { readonly [Name in OptionName]: ValueOf<(typeof options)[Name]> }

export type ValueSource = 'default' | 'environment' | 'flag'

export interface Config extends Settings {
  readonly sources: Readonly<Record<OptionName, ValueSource>>
  /** Sentences for the log at start. */
  readonly warnings: readonly string[]
  /** The folder of the service, to which a relative path of the database is relative. */
  readonly folder: string
  /** Returns a variable that the service declares by `env(…)` (§17.5), if it is set. */
  readonly variable: (name: string) => string | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Texts of the command line by option name; `true` for a switch without a value. */
export type Flags = Readonly<Partial<Record<OptionName, string | true>>>

/** An invalid configuration: one sentence per mistake, none of which contains a secret. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

/** Adds to a `ConfigError` where a call of code reads the variables; returns other errors. */
export const withEnvOption = (call: string, error: unknown): unknown =>
  error instanceof ConfigError
    ? new ConfigError([...error.mistakes, `${call} reads variables from its option env only.`])
    : error

/**
 * Parses and checks a configuration.
 *
 * @param findFileProblem Returns why a file cannot be read; undefined if it can.
 * @throws {ConfigError} With every mistake.
 */
export function loadConfig(
  env: Environment,
  flags: Flags = {},
  findFileProblem: (file: string) => string | undefined = () => undefined,
): Config {
  const { mistakes, values, sources } = parseOptions(env, flags)
  const warnings: string[] = []
  checkNames(env, mistakes, warnings)
  // A rule is checked only if its values are valid.
  const settings = { ...defaults(), ...values } as Settings
  const areValid = (names: readonly OptionName[]) => names.every((name) => name in values)
  for (const rule of optionRules) {
    const mistake = areValid(rule.about) && rule.check(settings)
    if (mistake) mistakes.push(mistake)
  }
  mistakes.push(...fileMistakes(settings, findFileProblem))
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  const variable = (name: string) => env[name]?.trim() || undefined
  return { ...settings, sources: sources as Config['sources'], warnings, folder: '.', variable }
}

function parseOptions(env: Environment, flags: Flags) {
  const mistakes: string[] = []
  const values: Partial<Record<OptionName, unknown>> = {}
  const sources: Partial<Record<OptionName, ValueSource>> = {}
  for (const [name, option] of optionList) {
    const { text, source } = findText(option, env, flags[name])
    sources[name] = source
    if (source === 'flag' && hasPassword(text ?? '')) {
      mistakes.push(describePasswordInFlag(option))
      continue
    }
    const value = text === null ? null : option.kind.parse(text)
    if (value === undefined) mistakes.push(describeInvalidValue(option, text ?? '', source))
    else values[name] = value
  }
  return { mistakes, values, sources }
}

/** Returns the settings of an invalid configuration: defaults in place of invalid values. */
export const settingsWithMistakes = (env: Environment, flags: Flags): Settings =>
  ({ ...defaults(), ...parseOptions(env, flags).values }) as Settings

const defaults = () =>
  Object.fromEntries(
    optionList.map(([name, row]) => [
      name,
      row.fallback === null ? null : row.kind.parse(row.fallback),
    ]),
  )

/** Returns the text of an option: its flag, else its variable, else its default. */
function findText(
  option: Option,
  env: Environment,
  flag: string | true | undefined,
): { text: string | null; source: ValueSource } {
  if (flag !== undefined) return { text: flag === true ? '1' : flag.trim(), source: 'flag' }
  const text = env[option.env]?.trim()
  // In Compose files and CI, `NAME=` means "not set".
  if (text === undefined || (text === '' && !option.kind.emptyIsValue)) {
    return { text: option.fallback, source: 'default' }
  }
  return { text, source: 'environment' }
}

/** Returns whether a URL, or one of several, contains a password. */
export const hasPassword = (text: string): boolean =>
  /\/\/[^/?#\s]*:[^/?#\s]*@/.test(text) || /[?&][a-z]*password=[^&]/i.test(text)

/** Other users of the machine can read the arguments of its processes. */
const describePasswordInFlag = (option: Option): string =>
  `${flagOf(option)} contains a password, and arguments are visible to others. ` +
  `Give the address in ${option.env}.`

/** A URL with a user name alone, such as `postgres://ada@db.example/app`. */
const HAS_USER_ONLY = /^[^:@]*:\/\/[^:@/?#]*@[^@]*$/

/** Removes passwords, with their users, from a URL, even from one that does not parse. */
export const withoutPassword = (text: string) =>
  (HAS_USER_ONLY.test(text) ? text : text.replace(/\/\/.*@/s, '//…@')).replace(
    /(password=)[^&#]*/gi,
    '$1…',
  )

const MAX_DISPLAYED = 80

function describeInvalidValue(option: Option, text: string, source: ValueSource): string {
  const name = source === 'flag' ? flagOf(option) : option.env
  const { expects } = option.kind
  if (option.secret) return `${name} (${text.length} characters, not displayed) expects ${expects}.`
  const safe = withoutPassword(text)
  const displayedText = safe.length > MAX_DISPLAYED ? `${safe.slice(0, MAX_DISPLAYED)}…` : safe
  // Kubernetes sets NAME_PORT to such a URL for every service, and this one may be named gatehook.
  const kubernetes = option.env === 'GATEHOOK_PORT' && text.startsWith('tcp://')
  const hint = kubernetes ? ' Kubernetes set it: use enableServiceLinks: false in the pod.' : ''
  return `${name} is ${JSON.stringify(displayedText)}; expected ${expects}.${hint}`
}

type DatabaseAddress =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }

export const databaseAddress = (url: string): DatabaseAddress =>
  url.startsWith('sqlite:')
    ? { kind: 'sqlite', file: url.replace(/^sqlite:(?:\/\/)?/, '') }
    : { kind: 'postgres', url }

/** Returns how a process of this configuration reaches its database. */
export const databaseTarget = (config: Settings): DatabaseTarget => ({
  url: config.databaseUrl,
  pooler: config.databasePooler ?? undefined,
  directUrl: config.databaseDirectUrl ?? undefined,
  otherUrls: [config.databaseDirectUrl ?? [], config.databaseReadUrls].flat(),
  durability: config.durability,
  distributed: config.databaseDistributed ?? undefined,
  schema: config.databaseSchema,
  owner: config.databaseOwner ?? undefined,
  connections: {
    transactions: config.databaseConnections,
    reads: config.databaseReadConnections,
    deliveries: config.databaseDeliveryConnections,
  },
})

/** Returns the base of absolute links: the public URL, or the bind address with its port. */
export function publicUrlOf(config: Settings, port: number): string {
  if (config.publicUrl) return config.publicUrl
  // A client cannot connect to the wildcard address.
  const wildcard = config.host === '0.0.0.0' || config.host === '::'
  const host = wildcard ? 'localhost' : config.host
  const scheme = config.tlsCert ? 'https' : 'http'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Returns the path of the public URL, under which an application mounts the API; '' for none. */
export const mountPathOf = ({ publicUrl }: Pick<Settings, 'publicUrl'>): string =>
  publicUrl === null ? '' : pathOfUrl(publicUrl)

interface OptionRule {
  readonly about: readonly OptionName[]
  /** The rule, for the reference page. */
  readonly sentence: string
  /** Returns the mistake of an invalid configuration. */
  readonly check: (settings: Settings) => string | undefined | false
}

/** Options for this machine alone, and why. */
const loopbackOnly = {
  testClock: 'a change of the clock expires credentials',
  webhookAllowPrivate: 'receivers could then reach into your network',
} as const

const loopbackNames = Object.keys(loopbackOnly) as (keyof typeof loopbackOnly)[]

const loopbackRule = (name: keyof typeof loopbackOnly): OptionRule => ({
  about: [name, 'host'],
  sentence:
    `\`${options[name].env}\` requires a loopback \`GATEHOOK_HOST\`; mounted, also a loopback ` +
    'host of `GATEHOOK_PUBLIC_URL`.',
  check: (s) =>
    s[name] &&
    !isLoopback(s.host) &&
    `${options[name].env} is 1, but GATEHOOK_HOST is ${s.host}; ` +
      `${loopbackOnly[name]}, so it needs a loopback host.`,
})

/** Returns the mistakes of a configuration whose server is that of an application (§17.4). */
export function mountMistakes(config: Settings): string[] {
  const { hostname } = new URL(publicUrlOf(config, config.port))
  const forbidden = isLoopback(hostname) ? [] : loopbackNames.filter((name) => config[name])
  return [
    ...(config.internal === null ? [] : [NO_LISTENER]),
    ...forbidden.map(
      (name) =>
        `${options[name].env} is 1, but the host of GATEHOOK_PUBLIC_URL is ${hostname}; ` +
        `${loopbackOnly[name]}, so it needs a loopback host.`,
    ),
  ]
}

const NO_LISTENER =
  'GATEHOOK_INTERNAL opens a listener of gatehook start; a mounted service has no listener.'

export const optionRules: readonly OptionRule[] = [
  {
    about: ['host', 'tlsCert', 'tlsKey', 'trustProxy'],
    sentence:
      'Plain HTTP is served on loopback addresses only. Any other `GATEHOOK_HOST` requires ' +
      '`GATEHOOK_TLS_CERT` and `GATEHOOK_TLS_KEY`, or `GATEHOOK_TRUST_PROXY` with the proxy that ' +
      'terminates TLS.',
    check: (s) =>
      !isLoopback(s.host) &&
      !s.tlsCert &&
      !s.tlsKey &&
      s.trustProxy.length === 0 &&
      `GATEHOOK_HOST is ${s.host}, where plain HTTP would carry keys and tokens in the clear; ` +
        'set GATEHOOK_TLS_CERT and GATEHOOK_TLS_KEY, or name the proxy that terminates TLS in ' +
        'GATEHOOK_TRUST_PROXY, or use a loopback host.',
  },
  {
    about: ['operatorsIssuer', 'operatorsClientId', 'operatorsRoles', 'operatorsPasswords'],
    sentence:
      '`GATEHOOK_OPERATORS_ISSUER` requires `GATEHOOK_OPERATORS_CLIENT_ID` and ' +
      '`GATEHOOK_OPERATORS_ROLES`, and https unless it is a loopback address. Without it, ' +
      '`GATEHOOK_OPERATORS_PASSWORDS` is `on`.',
    check(s) {
      if (s.operatorsIssuer === null) {
        return (
          s.operatorsPasswords !== 'on' &&
          `GATEHOOK_OPERATORS_PASSWORDS=${s.operatorsPasswords} needs GATEHOOK_OPERATORS_ISSUER.`
        )
      }
      const issuer = new URL(s.operatorsIssuer)
      if (issuer.protocol !== 'https:' && !isLoopback(issuer.hostname)) {
        return 'GATEHOOK_OPERATORS_ISSUER uses http, which is for loopback addresses only.'
      }
      const isComplete = s.operatorsClientId !== null && s.operatorsRoles !== null
      return (
        !isComplete &&
        'GATEHOOK_OPERATORS_ISSUER needs GATEHOOK_OPERATORS_CLIENT_ID and GATEHOOK_OPERATORS_ROLES.'
      )
    },
  },
  {
    about: ['tlsCert', 'tlsKey'],
    sentence: '`GATEHOOK_TLS_CERT` and `GATEHOOK_TLS_KEY` are set together or not at all.',
    check(s) {
      if (Boolean(s.tlsCert) === Boolean(s.tlsKey)) return undefined
      const [set, missing] = s.tlsCert ? ['CERT', 'KEY'] : ['KEY', 'CERT']
      return `GATEHOOK_TLS_${set} is set, GATEHOOK_TLS_${missing} is not; TLS needs both.`
    },
  },
  {
    about: ['databaseUrl', 'secretKey'],
    sentence: 'On PostgreSQL, `GATEHOOK_SECRET_KEY` is required, and the same on every node.',
    check: (s) =>
      databaseAddress(s.databaseUrl).kind === 'postgres' &&
      s.secretKey === null &&
      'GATEHOOK_SECRET_KEY is not set; on PostgreSQL all nodes need the same one, ' +
        `${options.secretKey.kind.expects}.`,
  },
  {
    about: ['databasePooler', 'databaseDirectUrl'],
    sentence: '`GATEHOOK_DATABASE_DIRECT_URL` requires `GATEHOOK_DATABASE_POOLER`.',
    check: (s) =>
      s.databaseDirectUrl !== null &&
      s.databasePooler === null &&
      'GATEHOOK_DATABASE_DIRECT_URL is set, GATEHOOK_DATABASE_POOLER is not; without a pooler, ' +
        'GATEHOOK_DATABASE_URL is the direct address.',
  },
  {
    about: ['databasePooler', 'databaseDirectUrl', 'databaseOwner'],
    sentence: 'Behind a pooler, `GATEHOOK_DATABASE_OWNER` requires `GATEHOOK_DATABASE_DIRECT_URL`.',
    check: (s) =>
      s.databaseOwner !== null &&
      s.databasePooler !== null &&
      s.databaseDirectUrl === null &&
      'GATEHOOK_DATABASE_OWNER is set, GATEHOOK_DATABASE_DIRECT_URL is not; a session behind the ' +
        'pooler cannot assume the role for the builds of indexes.',
  },
  {
    about: ['databaseUrl', 'databaseReadUrls'],
    sentence: '`GATEHOOK_DATABASE_READ_URLS` requires PostgreSQL.',
    check: (s) =>
      s.databaseReadUrls.length > 0 &&
      databaseAddress(s.databaseUrl).kind === 'sqlite' &&
      'GATEHOOK_DATABASE_READ_URLS is set, and GATEHOOK_DATABASE_URL is a SQLite file, which has ' +
        'no replicas.',
  },
  {
    about: ['secretKey', 'secretKeyPrevious'],
    sentence: '`GATEHOOK_SECRET_KEY_PREVIOUS` differs from `GATEHOOK_SECRET_KEY`.',
    check: (s) =>
      s.secretKeyPrevious !== null &&
      s.secretKeyPrevious === s.secretKey &&
      'GATEHOOK_SECRET_KEY_PREVIOUS is the same secret as GATEHOOK_SECRET_KEY; set the new ' +
        'secret in GATEHOOK_SECRET_KEY, or unset GATEHOOK_SECRET_KEY_PREVIOUS.',
  },
  {
    about: ['secretKey', 'secretKeyPrevious'],
    sentence: '`GATEHOOK_SECRET_KEY_PREVIOUS` requires `GATEHOOK_SECRET_KEY`.',
    check: (s) =>
      s.secretKeyPrevious !== null &&
      s.secretKey === null &&
      'GATEHOOK_SECRET_KEY_PREVIOUS is set, GATEHOOK_SECRET_KEY is not; without it, the secrets ' +
        'are the files secret.key and secret.key.previous beside the database.',
  },
  {
    about: ['portalAccent'],
    sentence:
      'The contrast of `GATEHOOK_PORTAL_ACCENT`, as text on the page, is at least ' +
      `${CONTRAST_MIN}.`,
    check(s) {
      const contrast = s.portalAccent === null ? CONTRAST_MIN : accentContrast(s.portalAccent)
      return (
        contrast < CONTRAST_MIN &&
        `GATEHOOK_PORTAL_ACCENT is ${s.portalAccent}; as text on the page it has a contrast of ` +
          `${contrast.toFixed(1)}, less than ${CONTRAST_MIN}. Choose a darker colour.`
      )
    },
  },
  {
    about: ['port', 'internal'],
    sentence: '`GATEHOOK_INTERNAL` has another port than `GATEHOOK_PORT`.',
    check: (s) =>
      s.port !== 0 &&
      s.port === s.internal?.port &&
      `GATEHOOK_INTERNAL has port ${s.port}, which is that of GATEHOOK_PORT; choose another one.`,
  },
  ...loopbackNames.map(loopbackRule),
]

function fileMistakes(
  s: Settings,
  findFileProblem: (file: string) => string | undefined,
): string[] {
  return optionList.flatMap(([name, { env, kind }]) => {
    const file = kind === filePath && s[name]
    const problem = file ? findFileProblem(String(file)) : undefined
    return problem ? [`${env} is ${JSON.stringify(file)}, which cannot be read: ${problem}.`] : []
  })
}

/** On PostgreSQL a load balancer must notice that the node leaves; on SQLite there is one node. */
export const drainDelayMs = ({ drainDelayS, databaseUrl }: Config): number =>
  1000 * (drainDelayS ?? (databaseAddress(databaseUrl).kind === 'postgres' ? 5 : 0))

/** Returns the files of the certificate and its key; undefined without TLS. */
export const tlsFilesOf = ({ tlsCert, tlsKey }: Config) =>
  tlsCert && tlsKey ? { certFile: tlsCert, keyFile: tlsKey } : undefined
