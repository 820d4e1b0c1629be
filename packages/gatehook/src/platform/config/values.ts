/** The kinds of option values: a description of the expected text, and its parser. Pure. */
import { isIP } from 'node:net'
import { parseAddressRange } from '../../kernel/address.ts'
import { parseApiKey } from '../../kernel/api-key-format.ts'
import { parseColour } from '../../kernel/colour.ts'
import { parsePostgresAddress } from '../../kernel/database-target.ts'
import type { Role } from '../../kernel/principal.ts'

export interface ValueKind<T> {
  /** For the reference: `port`, `seconds`, … */
  readonly name: string
  /** Completes the sentence "… is X; expected …". */
  readonly expects: string
  /** Returns undefined if the text is not valid. */
  readonly parse: (text: string) => T | undefined
  /** Whether an empty text is an empty list; otherwise, it means "not set". */
  readonly emptyIsValue?: boolean
}

/** A limit per window of `windowS` seconds. */
export interface RateOption {
  readonly limit: number
  readonly windowS: number
}

/** A rate with a token bucket of size `burst`. */
export interface BurstRate extends RateOption {
  readonly burst: number
}

const INTEGER = /^(?:0|[1-9][0-9]{0,14})$/

function parseInteger(text: string, min: number, max: number): number | undefined {
  const value = Number(text)
  return INTEGER.test(text) && value >= min && value <= max ? value : undefined
}

const splitList = (text: string) => (text === '' ? [] : text.split(',').map((part) => part.trim()))

/** Parses the parts of a list; undefined if any part is not valid. */
function parseEach<T>(text: string, parse: (part: string) => T | undefined): T[] | undefined {
  const values: T[] = []
  for (const part of splitList(text)) {
    const value = parse(part)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

export const port: ValueKind<number> = {
  name: 'port',
  expects: 'a port number from 0 (any free port) to 65535',
  parse: (text) => parseInteger(text, 0, 65_535),
}

const HOST_NAME = /^(?!.*\.\.)[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i

export const host: ValueKind<string> = {
  name: 'host',
  expects: 'an IP address or a host name, without scheme and port',
  parse(text) {
    const bare = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text
    if (isIP(bare)) return bare
    // Digits and dots alone are a mistyped address.
    return HOST_NAME.test(text) && !/^[\d.]+$/.test(text) ? text : undefined
  },
}

export interface BindAddress {
  readonly host: string
  readonly port: number
}

export const hostAndPort: ValueKind<BindAddress> = {
  name: 'host and port',
  expects: 'a host and a port, for example 0.0.0.0:8788',
  parse(text) {
    const [, name = '', number = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? []
    // Without brackets, the last group of an IPv6 address would be a port.
    const isBare = name.includes(':') && !name.startsWith('[')
    const address = isBare ? undefined : host.parse(name)
    const parsedPort = port.parse(number)
    return address === undefined || parsedPort === undefined
      ? undefined
      : { host: address, port: parsedPort }
  },
}

function parseOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  // `URL` normalizes case and default ports; any other difference is not part of an origin.
  return url.href === `${url.origin}/` && !/[?#]$/.test(text) ? url.origin : undefined
}

const MOUNT_PATH = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,8}$/

export const publicUrl: ValueKind<string> = {
  name: 'url',
  expects: 'http:// or https:// and a host, perhaps a path, with no query or credentials',
  parse(text) {
    const [, start = '', rest = ''] = /^(https?:\/\/[^/?#]*)(.*)$/i.exec(text) ?? []
    const origin = parseOrigin(start)
    const path = rest.replace(/\/$/, '')
    return origin !== undefined && (path === '' || MOUNT_PATH.test(path))
      ? origin + path
      : undefined
  },
}

export const webUrl: ValueKind<string> = {
  name: 'url',
  expects: 'an http:// or https:// URL without credentials, query or fragment',
  parse(text) {
    const url = URL.parse(text)
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined
    if (url.username !== '' || url.password !== '' || url.search !== '') return undefined
    return url.hash === '' ? text : undefined
  },
}

/** A schema is in search paths and in names of tables, without quotes. */
export const schemaName: ValueKind<string> = {
  name: 'name',
  expects: 'at most 63 characters of a–z, 0–9 and _, without a leading digit or pg_',
  parse: (text) =>
    /^[a-z_][a-z0-9_]{0,62}$/.test(text) && !/^(pg_|information_schema$)/.test(text)
      ? text
      : undefined,
}

export const roleName: ValueKind<string> = {
  name: 'name',
  expects: 'at most 63 characters of a–z, A–Z, 0–9, _ and -, without a leading digit',
  parse: (text) => (/^[A-Za-z_][\w-]{0,62}$/.test(text) ? text : undefined),
}

export const share: ValueKind<number> = {
  name: 'share',
  expects: 'a number from 0 to 1',
  parse(text) {
    const value = /^\d(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN
    return value >= 0 && value <= 1 ? value : undefined
  },
}

export const databaseUrl: ValueKind<string> = {
  name: 'database url',
  expects: 'sqlite:FILE, or postgres://USER:PASSWORD@HOST/DATABASE with one host or several',
  parse(text) {
    if (text.startsWith('sqlite:')) {
      const file = text.replace(/^sqlite:(?:\/\/)?/, '')
      return file === '' || file.startsWith(':') || /[?#\0]/.test(file) ? undefined : text
    }
    return postgresUrl.parse(text)
  },
}

export const postgresUrl: ValueKind<string> = {
  name: 'database url',
  expects: 'postgres://USER:PASSWORD@HOST/DATABASE',
  parse: (text) => (text.length > 11 && parsePostgresAddress(text) ? text : undefined),
}

const READ_URLS_MAX = 16
/** A comma separates addresses if another one follows; it also separates hosts. */
const NEXT_ADDRESS = /,(?=postgres(?:ql)?:\/\/)/

export const postgresUrls: ValueKind<string[]> = {
  name: 'database urls',
  expects: 'addresses postgres://USER:PASSWORD@HOST/DATABASE, comma-separated',
  parse(text) {
    const urls = text === '' ? [] : text.split(NEXT_ADDRESS).map((url) => url.trim())
    return urls.length <= READ_URLS_MAX && urls.every((url) => postgresUrl.parse(url))
      ? urls
      : undefined
  },
  emptyIsValue: true,
}

function integer(name: string, unit: string, min: number, max: number): ValueKind<number> {
  return {
    name,
    expects: `a whole number of ${unit} from ${min} to ${max}`,
    parse: (text) => parseInteger(text, min, max),
  }
}

export const seconds = (min: number, max: number) => integer('seconds', 'seconds', min, max)

export const connections = (min: number, max: number) =>
  integer('connections', 'connections', min, max)
export const days = (min: number, max: number) => integer('days', 'days', min, max)
export const mebibytes = (min: number, max: number) => integer('mebibytes', 'MiB', min, max)
export const rows = (min: number, max: number) => integer('rows', 'rows', min, max)
export const milliseconds = (min: number, max: number) =>
  integer('milliseconds', 'milliseconds', min, max)

const MAX_DELAY_S = 2_592_000
const MAX_DELAYS = 50

export const schedule: ValueKind<number[]> = {
  name: 'schedule',
  expects:
    `1 to ${MAX_DELAYS} delays in seconds, comma-separated, ` + `each from 0 to ${MAX_DELAY_S}`,
  parse(text) {
    const delays = parseEach(text, (part) => parseInteger(part, 0, MAX_DELAY_S))
    return delays && delays.length >= 1 && delays.length <= MAX_DELAYS ? delays : undefined
  },
}

/** Parses `10.0.0.0/8`; an address without a prefix length is a range of its own. */
function parseCidr(text: string): string | undefined {
  const range = parseAddressRange(text)
  return range && `${range.address}/${range.bits}`
}

export const cidrs: ValueKind<string[]> = {
  name: 'address ranges',
  expects: 'addresses or ranges such as 10.0.0.0/8, comma-separated',
  parse: (text) => parseEach(text, parseCidr),
  emptyIsValue: true,
}

/** No spaces: requests name several audiences with a space between them. */
const AUDIENCE = /^[\x21-\x7e]{1,255}$/

export const audiences: ValueKind<string[]> = {
  name: 'audiences',
  expects: 'URLs or names of up to 255 visible ASCII characters, comma-separated',
  parse: (text) => parseEach(text, (part) => (AUDIENCE.test(part) ? part : undefined)),
  emptyIsValue: true,
}

export const origins: ValueKind<string[] | '*'> = {
  name: 'origins',
  expects: 'origins such as https://app.example.com, comma-separated, or * alone',
  parse: (text) => (text === '*' ? '*' : parseEach(text, parseOrigin)),
  emptyIsValue: true,
}

const DOCUMENT_HOST = /^(?:\*\.)?[a-z0-9.-]{1,253}$/

export const documentHosts: ValueKind<'off' | 'any' | string[]> = {
  name: 'hosts',
  expects: 'off, any, or hosts such as example.com and *.example.org, comma-separated',
  parse(text) {
    if (text === 'off' || text === 'any') return text
    return parseEach(text, (part) => (DOCUMENT_HOST.test(part) ? part : undefined))
  },
}

/** A group of an identity provider, and the role of its operators (§16.9). */
export interface GroupRole {
  readonly group: string
  readonly role: Role
}

const GROUP_ROLE = /^([^=,]{1,200})=(admin|administrator|support|viewer)$/

export const groupRoles: ValueKind<GroupRole[]> = {
  name: 'roles',
  expects: 'groups with admin, support or viewer, such as platform-admins=admin, comma-separated',
  parse: (text) =>
    parseEach(text, (part) => {
      const [, group = '', role = ''] = GROUP_ROLE.exec(part) ?? []
      if (group === '') return undefined
      return { group, role: role === 'admin' ? 'administrator' : (role as Role) }
    }),
}

const RATE = /^([0-9]+)\/([0-9]+)$/
const BURST_RATE = /^([0-9]+\/[0-9]+)(?: burst ([0-9]+))?$/
const MAX_NUMBER = 1_000_000_000
const DAY_S = 86_400

function parseRate(text: string): RateOption | undefined {
  const match = RATE.exec(text)
  const limit = parseInteger(match?.[1] ?? '', 1, MAX_NUMBER)
  const windowS = parseInteger(match?.[2] ?? '', 1, DAY_S)
  return limit === undefined || windowS === undefined ? undefined : { limit, windowS }
}

export const rate: ValueKind<RateOption | null> = {
  name: 'rate',
  expects: 'NUMBER/SECONDS such as 1000/60, or 0 for no limit',
  parse: (text) => (text === '0' ? null : parseRate(text)),
}

export const burstRate: ValueKind<BurstRate | null> = {
  name: 'rate with burst',
  expects:
    'NUMBER/SECONDS such as 100/1 (burst: twice the number), "100/1 burst 500", or 0 for no limit',
  parse(text) {
    if (text === '0') return null
    const match = BURST_RATE.exec(text)
    const steady = parseRate(match?.[1] ?? '')
    if (!match || !steady) return undefined
    if (match[2] === undefined) return { ...steady, burst: steady.limit * 2 }
    const burst = parseInteger(match[2], steady.limit, MAX_NUMBER)
    return burst === undefined ? undefined : { ...steady, burst }
  },
}

export const bool: ValueKind<boolean> = {
  name: 'switch',
  expects: '1 or 0',
  parse: (text) => (text === '1' ? true : text === '0' ? false : undefined),
}

export function oneOf<const T extends string>(words: readonly T[]): ValueKind<T> {
  return {
    name: words.join(', '),
    expects: `one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  }
}

export const filePath: ValueKind<string> = {
  name: 'file',
  expects: 'the path of a file',
  parse: (text) => (text.includes('\0') ? undefined : text),
}

const NODE_NAME_MAX = 128

export const nodeName: ValueKind<string> = {
  name: 'name of a node',
  expects: `up to ${NODE_NAME_MAX} letters, digits and characters of ._:-`,
  parse: (value) =>
    value.length <= NODE_NAME_MAX && /^[A-Za-z0-9._:-]+$/.test(value) ? value : undefined,
}

const TITLE_MAX = 60

export const title: ValueKind<string> = {
  name: 'title',
  expects: `one line of at most ${TITLE_MAX} characters`,
  parse: (value) =>
    value.length <= TITLE_MAX && value.isWellFormed() && !/\p{C}/u.test(value) ? value : undefined,
}

export const line: ValueKind<string> = {
  name: 'text',
  expects: 'one line of at most 1000 characters',
  parse: (value) => (/^\P{C}{1,1000}$/u.test(value) ? value : undefined),
}

export const colour: ValueKind<string> = {
  name: 'colour',
  expects: 'a colour such as #0b5cad',
  parse: parseColour,
}

export const liveKey: ValueKind<string> = {
  name: 'live API key',
  expects: 'gk_live_ followed by 32 characters of 0-9A-Za-z and the 6 of their checksum',
  parse: (value) => (parseApiKey(value)?.mode === 'live' ? value : undefined),
}

const MIN_SECRET_LENGTH = 32

export const masterSecret: ValueKind<string> = {
  name: 'secret',
  expects: `at least ${MIN_SECRET_LENGTH} characters, for example from: openssl rand -base64 32`,
  parse: (value) => (value.length >= MIN_SECRET_LENGTH ? value : undefined),
}
