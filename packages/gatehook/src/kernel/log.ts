/**
 * The log: JSON lines by pino, or short lines for a person on a terminal. Secrets never get here by
 * design; `redact` is the second lock. URLs are logged without values of `api_key` and `cursor`.
 */
import { pino } from 'pino'

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
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: REDACTED.flatMap((name) => [name, `*.${name}`, `headers["${name}"]`]),
        censor: '[redacted]',
      },
    },
    options.destination ?? pino.destination({ dest: 1, sync: false, minLength: 4096 }),
  )
}

const SECRET_PARAMETER = /([?&](?:api_key|cursor|access_token|token|code)=)[^&#]*/gi

/** A URL as it may be logged: of secret parameters only the names. */
export const loggableUrl = (url: string): string =>
  url.includes('=') ? url.replace(SECRET_PARAMETER, '$1…') : url
