/**
 * The log for a person: the JSON lines of `kernel/log.ts` as short ones. Off a terminal JSON
 * stays.
 */
import { alarm, dim, yellow } from './output.ts'

const paint: Readonly<Record<string, (text: string) => string>> = {
  warn: yellow,
  error: alarm,
  fatal: alarm,
}

/** `10:31:02 warn the message {more}`; a line that is not JSON stays as it is. */
export function terminalLine(json: string): string {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(json)
  } catch {
    return json
  }
  const { level, time, msg, ...more } = line
  const name = String(level)
  const clock = String(time).slice(11, 19)
  const rest = Object.entries(more).map(([key, value]) => `${key}=${shown(value)}`)
  const said = [String(msg ?? ''), rest.length > 0 && dim(rest.join(' '))].filter(Boolean).join(' ')
  return `${dim(clock)} ${(paint[name] ?? dim)(name.padEnd(5))} ${said}`
}

const shown = (value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /\s/.test(text) && typeof value === 'string' ? JSON.stringify(text) : text
}

/** Where pino writes when a person watches. */
export const terminalStream = {
  write: (line: string) => void process.stdout.write(`${terminalLine(line.trimEnd())}\n`),
}
