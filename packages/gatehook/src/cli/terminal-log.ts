/** The log at a terminal: the JSON lines of `kernel/log.ts` in a short form. */
import { printable, printableValue } from '../kernel/printable.ts'
import type { JsonBody } from './http-client.ts'
import { alarm, dim, writeText, yellow } from './output.ts'
import { requestLine } from './request-line.ts'

const paint: Readonly<Record<string, (text: string) => string>> = {
  warn: yellow,
  error: alarm,
  fatal: alarm,
}

/**
 * Returns `10:31:02 warn the message key=value`, with an error's stack below it, or the line of
 * `gatehook logs` for a request; a line that is not JSON is unchanged.
 */
export function terminalLine(json: string): string {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(json)
  } catch {
    return json
  }
  const { level, time, msg, err, ...more } = line
  if (msg === 'request' || msg === 'request aborted') return lineOfRequest(printableValue(line))
  const name = String(level)
  const clock = String(time).slice(11, 19)
  const stack = stackOf(err)
  const members = err === undefined || stack.length > 0 ? more : { err, ...more }
  const rest = Object.entries(members).map(([key, value]) => `${key}=${textOf(value)}`)
  const text = [printable(String(msg ?? '')), rest.length > 0 && dim(rest.join(' '))]
    .filter(Boolean)
    .join(' ')
  const head = `${dim(clock)} ${(paint[name] ?? dim)(name.padEnd(5))} ${text}`
  return [head, ...stack.map((frame) => `  ${frame}`)].join('\n')
}

/** Returns the lines of an error, with its message and its causes; empty for another value. */
function stackOf(err: unknown): string[] {
  const { stack } = (err ?? {}) as { stack?: unknown }
  return typeof stack === 'string' ? stack.split('\n').map(printable) : []
}

const lineOfRequest = ({ time, status, ms, method, url, error, request_id }: JsonBody): string =>
  requestLine({
    at: time,
    status: status ?? null,
    took_ms: ms,
    method: method ?? '-',
    path: url,
    error: error ?? null,
    id: request_id,
  })

const textOf = (value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /\s/.test(text) && typeof value === 'string' ? JSON.stringify(text) : text
}

/** The destination of the log of a command, whose standard output is its result. */
export const errorStream = (json: boolean) => ({
  write: (line: string) =>
    writeText(process.stderr, `${json ? line.trimEnd() : terminalLine(line.trimEnd())}\n`),
})

/** The destination of pino at a terminal. */
export const terminalStream = {
  write: (line: string) => writeText(process.stdout, `${terminalLine(line.trimEnd())}\n`),
}
