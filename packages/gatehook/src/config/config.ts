/**
 * From texts to a `Config`: values parsed, rules between them checked, all mistakes told together.
 * Pure; the process environment and files are read in `environment.ts`.
 */
import { isLoopback } from '../kernel/address.ts'
import { closest } from './closest.ts'
import {
  commandVariables,
  flagOf,
  type Option,
  type OptionName,
  optionList,
  options,
} from './options.ts'
import type { Kind } from './values.ts'

type ValueOf<O> = O extends { kind: Kind<infer T>; fallback: infer F }
  ? T | (F extends null ? null : never)
  : never

/** Every option under the camelCase of its name; `null` where nothing is set (see `options.ts`). */
export type Settings = { readonly [Name in OptionName]: ValueOf<(typeof options)[Name]> }

export type Source = 'default' | 'environment' | 'flag'

export interface Config extends Settings {
  /** Where each value came from. */
  readonly sources: Readonly<Record<OptionName, Source>>
  /** Sentences worth a line in the log at start; nothing here stops it. */
  readonly warnings: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Texts as given on the command line, by option name; `true` for a switch without a value. */
export type Flags = Readonly<Partial<Record<OptionName, string | true>>>

/** The configuration does not fit; one sentence per mistake, none of them holding a secret. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

/**
 * Throws a `ConfigError` with everything that is wrong. `unreadable` says why a file cannot be read
 * (undefined: it can); without it files are not looked at.
 */
export function loadConfig(
  env: Environment,
  flags: Flags = {},
  unreadable: (file: string) => string | undefined = () => undefined,
): Config {
  const mistakes: string[] = []
  const warnings: string[] = []
  const values: Partial<Record<OptionName, unknown>> = {}
  const sources: Partial<Record<OptionName, Source>> = {}
  for (const [name, option] of optionList) {
    const given = givenText(option, env, flags[name])
    sources[name] = given.source
    const value = given.text === null ? null : option.kind.parse(given.text)
    if (value === undefined) mistakes.push(wrongValue(option, given.text ?? '', given.source))
    else values[name] = value
  }
  unknownNames(env, mistakes, warnings)
  // Rules between values make sense only where the values themselves do.
  const settings = { ...defaults(), ...values } as Settings
  const known = (...names: OptionName[]) => names.every((name) => name in values)
  for (const rule of rules) {
    const mistake = known(...rule.about) && rule.check(settings)
    if (mistake) mistakes.push(mistake)
  }
  mistakes.push(...fileMistakes(settings, unreadable))
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return { ...settings, sources: sources as Config['sources'], warnings }
}

const defaults = () =>
  Object.fromEntries(
    optionList.map(([name, row]) => [
      name,
      row.fallback === null ? null : row.kind.parse(row.fallback),
    ]),
  )

function givenText(
  option: Option,
  env: Environment,
  flag: string | true | undefined,
): { text: string | null; source: Source } {
  if (flag !== undefined) return { text: flag === true ? '1' : flag.trim(), source: 'flag' }
  const text = env[option.env]?.trim()
  // Compose files and CI write `NAME=` for "not set".
  if (text === undefined || (text === '' && !option.kind.emptyIsValue)) {
    return { text: option.fallback, source: 'default' }
  }
  return { text, source: 'environment' }
}

/** A URL may carry a password, also one too broken to parse. */
export const withoutPassword = (text: string) =>
  text.replace(/\/\/[^/]*@/, '//…@').replace(/(password=)[^&#]*/gi, '$1…')

const MOST_SHOWN = 80

function wrongValue(option: Option, text: string, source: Source): string {
  const name = source === 'flag' ? flagOf(option) : option.env
  const { expects } = option.kind
  if (option.secret) return `${name} (${text.length} characters, not shown) expects ${expects}.`
  const shown = withoutPassword(text)
  const found = JSON.stringify(shown.length > MOST_SHOWN ? `${shown.slice(0, MOST_SHOWN)}…` : shown)
  // Kubernetes sets NAME_PORT to such a URL for every service, ours too when it is named gatehook.
  const kubernetes = option.env === 'GATEHOOK_PORT' && text.startsWith('tcp://')
  const hint = kubernetes ? ' Kubernetes set it: use enableServiceLinks: false in the pod.' : ''
  return `${name} is ${found}; expected ${expects}.${hint}`
}

/**
 * A near miss is a mistake; other names may belong to somebody else (`GATEHOOK_URL` of a client).
 */
function unknownNames(env: Environment, mistakes: string[], warnings: string[]): void {
  const prefix = 'GATEHOOK_'
  const known = optionList.map(([, option]) => option.env.slice(prefix.length))
  for (const name of Object.keys(env)) {
    const rest = name.slice(prefix.length)
    if (!name.startsWith(prefix) || known.includes(rest)) continue
    if (commandVariables.some(([one]) => one === name)) continue
    const meant = closest(rest, known)
    if (meant) mistakes.push(`${name} is not an option. Did you mean ${prefix}${meant}?`)
    else warnings.push(`${name} is set, but is not an option; it is ignored.`)
  }
}

/** A database URL, taken apart. */
export type DatabaseAddress =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }

export const databaseAddress = (url: string): DatabaseAddress =>
  url.startsWith('sqlite:')
    ? { kind: 'sqlite', file: url.replace(/^sqlite:(?:\/\/)?/, '') }
    : { kind: 'postgres', url }

/** The base of absolute links once the port is known: as configured, else the bind address. */
export function publicUrlOf(config: Settings, port: number): string {
  if (config.publicUrl) return config.publicUrl
  // The wildcard is no address one can call.
  const wildcard = config.host === '0.0.0.0' || config.host === '::'
  const host = wildcard ? 'localhost' : config.host
  const scheme = config.tlsCert ? 'https' : 'http'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

interface Rule {
  readonly about: readonly OptionName[]
  readonly check: (settings: Settings) => string | undefined | false
}

const loopbackOnly = (name: 'testClock' | 'webhookAllowPrivate', why: string): Rule => ({
  about: [name, 'host'],
  check: (s) =>
    s[name] &&
    !isLoopback(s.host) &&
    `${options[name].env} is 1, but GATEHOOK_HOST is ${s.host}; ` +
      `${why}, so it needs a loopback host.`,
})

const rules: readonly Rule[] = [
  {
    about: ['host', 'tlsCert', 'tlsKey', 'trustProxy'],
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
    about: ['tlsCert', 'tlsKey'],
    check(s) {
      if (Boolean(s.tlsCert) === Boolean(s.tlsKey)) return undefined
      const [set, missing] = s.tlsCert ? ['CERT', 'KEY'] : ['KEY', 'CERT']
      return `GATEHOOK_TLS_${set} is set, GATEHOOK_TLS_${missing} is not; TLS needs both.`
    },
  },
  {
    about: ['databaseUrl', 'secretKey'],
    check: (s) =>
      databaseAddress(s.databaseUrl).kind === 'postgres' &&
      s.secretKey === null &&
      'GATEHOOK_SECRET_KEY is not set; on PostgreSQL all nodes need the same one, ' +
        `${options.secretKey.kind.expects}.`,
  },
  {
    about: ['secretKey', 'secretKeyPrevious'],
    check: (s) =>
      s.secretKeyPrevious !== null &&
      s.secretKeyPrevious === s.secretKey &&
      'GATEHOOK_SECRET_KEY_PREVIOUS is the same secret as GATEHOOK_SECRET_KEY; set the new ' +
        'secret in GATEHOOK_SECRET_KEY, or unset GATEHOOK_SECRET_KEY_PREVIOUS.',
  },
  {
    about: ['secretKey', 'secretKeyPrevious'],
    check: (s) =>
      s.secretKeyPrevious !== null &&
      s.secretKey === null &&
      'GATEHOOK_SECRET_KEY_PREVIOUS is set, GATEHOOK_SECRET_KEY is not; without it, the secrets ' +
        'are the files secret.key and secret.key.previous beside the database.',
  },
  loopbackOnly('testClock', 'whoever sets the clock expires everybody’s credentials'),
  loopbackOnly('webhookAllowPrivate', 'receivers could then reach into your network'),
]

function fileMistakes(s: Settings, unreadable: (file: string) => string | undefined): string[] {
  return (['tlsCert', 'tlsKey', 'webhookCa'] as const).flatMap((name) => {
    const file = s[name]
    const why = file === null ? undefined : unreadable(file)
    return why
      ? [`${options[name].env} is ${JSON.stringify(file)}, which cannot be read: ${why}.`]
      : []
  })
}
