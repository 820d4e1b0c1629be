/**
 * The log: JSON lines by pino, or short lines for a person on a terminal. Secrets never get here by
 * design; `redact` is the second lock. URLs are logged without the values of secret parameters.
 */
import { pino } from 'pino'
import { wallClock } from './clock.ts'
import { isoTime } from './time.ts'

export type Log = pino.Logger

const REDACTED = [
  'authorization',
  'password',
  'secret',
  'key',
  'token',
  'access_token',
  'refresh_token',
  'client_secret',
  'api_key',
  'cookie',
]

export interface LogOptions {
  readonly level: string
  /** Where lines go; standard output by default. */
  readonly destination?: pino.DestinationStream
}

export function createLog(options: LogOptions): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: (): string => `,"time":"${isoTime(wallClock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: REDACTED.flatMap((name) => [name, `*.${name}`, `headers["${name}"]`]),
        censor: '[redacted]',
      },
    },
    options.destination ?? standardOutput(),
  )
}

/** Each write goes through the thread pool: of a busy service, some two hundred lines at once. */
const BUFFER_BYTES = 65_536
/** A quiet service's lines must not wait for the buffer to fill. */
const FLUSH_MS = 250

function standardOutput(): pino.DestinationStream {
  const output = pino.destination({
    dest: 1,
    sync: false,
    minLength: BUFFER_BYTES,
    maxWrite: 2 * BUFFER_BYTES,
    periodicFlush: FLUSH_MS,
  })
  return gathered(output)
}

/**
 * Lines of one turn of the event loop are given away as one text: to count the bytes of a line by
 * itself costs four times what the line does.
 */
function gathered(output: ReturnType<typeof pino.destination>) {
  let lines = ''
  const pass = () => {
    const text = lines
    lines = ''
    if (text !== '') output.write(text)
  }
  process.prependListener('exit', pass) // before pino's own, which brings out what it was given
  return {
    write(line: string) {
      if (lines === '') setImmediate(pass)
      lines += line
    },
    /** Called by pino's `flush`. */
    flush(done?: (error?: Error) => void) {
      pass()
      output.flush(done)
    },
  }
}

/** Also those that belong in a body: who sends them in a URL has made the mistake already. */
const SECRET_PARAMETERS = [
  ...['api_key', 'cursor', 'access_token', 'refresh_token', 'token', 'code'],
  ...['client_secret', 'client_assertion', 'code_verifier', 'password', 'secret', 'ticket'],
]
const SECRET_NAMES = new Set(SECRET_PARAMETERS)
const SECRET_VALUES = new RegExp(`((?:^|&)(?:${SECRET_PARAMETERS.join('|')})=)[^&]*`, 'gi')

/** A secret of ours, or what was left of one: it is no less a secret in the wrong place. */
const SECRETS = /(gk_live_|gk_test_|gs_|grt_|whsec_)[\w+/=%-]+/g
const MADE_HERE = /g[ks]_|grt_|whsec_/

/** Stands for a secret. ASCII: a line with any other character takes twice the bytes and time. */
const HIDDEN = '...'

/**
 * A URL as it may be logged: of secret parameters only the names, and no secret of ours wherever it
 * stands (`?apikey=gk_...`, `?x=1;api_key=gk_...`, in the path).
 */
export const loggableUrl = (url: string): string => {
  const named = withoutSecretValues(url)
  return MADE_HERE.test(named) ? named.replace(SECRETS, `$1${HIDDEN}`) : named
}

function withoutSecretValues(url: string): string {
  const mark = url.indexOf('?')
  if (mark < 0 || !url.includes('=', mark)) return url
  const query = url.slice(mark + 1)
  const shown = query.includes('%')
    ? query.split('&').map(loggablePart).join('&')
    : query.replace(SECRET_VALUES, `$1${HIDDEN}`)
  return `${url.slice(0, mark)}?${shown}`
}

function loggablePart(part: string): string {
  const at = part.indexOf('=')
  if (at < 0) return part
  const name = part.slice(0, at)
  return isSecret(name) ? `${name}=${HIDDEN}` : part
}

/** `%61pi_key` is `api_key` to who reads the query; a name nobody can read may be anything. */
function isSecret(name: string): boolean {
  try {
    return SECRET_NAMES.has(decodeURIComponent(name).toLowerCase())
  } catch {
    return true
  }
}
