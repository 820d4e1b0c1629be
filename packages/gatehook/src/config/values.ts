/**
 * The kinds of values an option can have: what is expected, in words, and a pure parser from text.
 * Which options exist is `options.ts`.
 */
import { isIP } from 'node:net'
import { parseAddressRange } from '../kernel/address.ts'
import { parseApiKey } from '../kernel/api-key-format.ts'

export interface Kind<T> {
  /** For the reference: `port`, `seconds`, … */
  readonly name: string
  /** Ends the sentence "… is X; expected …". */
  readonly expects: string
  /** `undefined` when the text is not such a value. */
  readonly parse: (text: string) => T | undefined
  /** Whether an empty text is a value (an empty list) instead of "not set". */
  readonly emptyIsValue?: boolean
}

/** `limit` in any `windowS` seconds. */
export interface Rate {
  readonly limit: number
  readonly windowS: number
}

/** A rate that a bucket holding `burst` may exceed for a moment. */
export interface BurstRate extends Rate {
  readonly burst: number
}

const INTEGER = /^(?:0|[1-9][0-9]{0,14})$/

function parseInteger(text: string, min: number, max: number): number | undefined {
  const value = Number(text)
  return INTEGER.test(text) && value >= min && value <= max ? value : undefined
}

const parts = (text: string) => (text === '' ? [] : text.split(',').map((part) => part.trim()))

/** Every part parsed, or undefined as soon as one cannot be. */
function parseEach<T>(text: string, parse: (part: string) => T | undefined): T[] | undefined {
  const out: T[] = []
  for (const part of parts(text)) {
    const value = parse(part)
    if (value === undefined) return undefined
    out.push(value)
  }
  return out
}

export const port: Kind<number> = {
  name: 'port',
  expects: 'a port number from 0 (any free one) to 65535',
  parse: (text) => parseInteger(text, 0, 65_535),
}

const HOST_NAME = /^(?!.*\.\.)[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i

export const host: Kind<string> = {
  name: 'host',
  expects: 'an IP address or a host name, without scheme and port',
  parse(text) {
    const bare = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text
    if (isIP(bare)) return bare
    // A name of digits and dots only is a mistyped address; the resolver would guess.
    return HOST_NAME.test(text) && !/^[\d.]+$/.test(text) ? text : undefined
  },
}

function parseOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  // Case and default ports aside, nothing but the origin may have been written.
  return url.href === `${url.origin}/` && !/[?#]$/.test(text) ? url.origin : undefined
}

export const publicUrl: Kind<string> = {
  name: 'url',
  expects: 'http:// or https:// and a host, with no path, query or credentials',
  parse: parseOrigin,
}

export const databaseUrl: Kind<string> = {
  name: 'database url',
  expects: 'sqlite:FILE, or postgres://USER:PASSWORD@HOST/DATABASE',
  parse(text) {
    if (text.startsWith('sqlite:')) {
      const file = text.replace(/^sqlite:(?:\/\/)?/, '')
      return file === '' || file.startsWith(':') || /[?#\0]/.test(file) ? undefined : text
    }
    if (!/^postgres(ql)?:\/\/./.test(text) || !URL.canParse(text)) return undefined
    return text
  },
}

function integer(name: string, unit: string, min: number, max: number): Kind<number> {
  return {
    name,
    expects: `a whole number of ${unit} from ${min} to ${max}`,
    parse: (text) => parseInteger(text, min, max),
  }
}

export const seconds = (min: number, max: number) => integer('seconds', 'seconds', min, max)

export const days = (min: number, max: number) => integer('days', 'days', min, max)
export const milliseconds = (min: number, max: number) =>
  integer('milliseconds', 'milliseconds', min, max)

const LONGEST_DELAY_S = 2_592_000
const MOST_DELAYS = 50

export const schedule: Kind<number[]> = {
  name: 'schedule',
  expects:
    `1 to ${MOST_DELAYS} delays in seconds, comma-separated, ` +
    `each from 0 to ${LONGEST_DELAY_S}`,
  parse(text) {
    const delays = parseEach(text, (part) => parseInteger(part, 0, LONGEST_DELAY_S))
    return delays && delays.length >= 1 && delays.length <= MOST_DELAYS ? delays : undefined
  },
}

/** `10.0.0.0/8`; a plain address is itself alone (`/32`, `/128`). */
function parseCidr(text: string): string | undefined {
  const range = parseAddressRange(text)
  return range && `${range.address}/${range.bits}`
}

export const cidrs: Kind<string[]> = {
  name: 'address ranges',
  expects: 'addresses or ranges such as 10.0.0.0/8, comma-separated',
  parse: (text) => parseEach(text, parseCidr),
  emptyIsValue: true,
}

export const origins: Kind<string[] | '*'> = {
  name: 'origins',
  expects: 'origins such as https://app.example.com, comma-separated, or * alone',
  parse: (text) => (text === '*' ? '*' : parseEach(text, parseOrigin)),
  emptyIsValue: true,
}

const RATE = /^([0-9]+)\/([0-9]+)$/
const BURST_RATE = /^([0-9]+\/[0-9]+)(?: burst ([0-9]+))?$/
const MOST = 1_000_000_000
const DAY_S = 86_400

function parseRate(text: string): Rate | undefined {
  const match = RATE.exec(text)
  const limit = parseInteger(match?.[1] ?? '', 1, MOST)
  const windowS = parseInteger(match?.[2] ?? '', 1, DAY_S)
  return limit === undefined || windowS === undefined ? undefined : { limit, windowS }
}

export const rate: Kind<Rate | null> = {
  name: 'rate',
  expects: 'NUMBER/SECONDS such as 1000/60, or 0 for no limit',
  parse: (text) => (text === '0' ? null : parseRate(text)),
}

export const burstRate: Kind<BurstRate | null> = {
  name: 'rate with burst',
  expects:
    'NUMBER/SECONDS such as 100/1 (burst: twice the number), "100/1 burst 500", or 0 for no limit',
  parse(text) {
    if (text === '0') return null
    const match = BURST_RATE.exec(text)
    const steady = parseRate(match?.[1] ?? '')
    if (!match || !steady) return undefined
    if (match[2] === undefined) return { ...steady, burst: steady.limit * 2 }
    const burst = parseInteger(match[2], steady.limit, MOST)
    return burst === undefined ? undefined : { ...steady, burst }
  },
}

export const bool: Kind<boolean> = {
  name: 'switch',
  expects: '1 or 0',
  parse: (text) => (text === '1' ? true : text === '0' ? false : undefined),
}

export function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  return {
    name: words.join(', '),
    expects: `one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  }
}

export const filePath: Kind<string> = {
  name: 'file',
  expects: 'the path of a file',
  parse: (text) => (text.includes('\0') ? undefined : text),
}

export const text: Kind<string> = {
  name: 'text',
  expects: 'up to 255 visible ASCII characters',
  parse: (value) => (/^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined),
}

export const liveKey: Kind<string> = {
  name: 'live API key',
  expects: 'gk_live_ followed by 32 characters of 0-9A-Za-z and the 6 of their checksum',
  parse: (value) => (parseApiKey(value)?.mode === 'live' ? value : undefined),
}

const SHORTEST_SECRET = 32

export const masterSecret: Kind<string> = {
  name: 'secret',
  expects: `at least ${SHORTEST_SECRET} characters, for example from: openssl rand -base64 32`,
  parse: (value) => (value.length >= SHORTEST_SECRET ? value : undefined),
}
