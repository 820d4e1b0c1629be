/**
 * What a command prints: tables and lines for people, one JSON document with `--json`. Results go
 * to standard output, progress and mistakes to standard error.
 */
import { styleText } from 'node:util'

export interface Output {
  readonly json: boolean
  /** Whether a person reads standard output. */
  readonly terminal: boolean
  readonly columns: number
  /** The result: `human` is asked only where no JSON is wanted. */
  result(value: unknown, human: () => string): void
  /** One of results that come one by one: a line each, with `--json` a JSON document each. */
  entry(value: unknown, human: () => string): void
  /** A line for people, silent with `--json`. */
  line(text?: string): void
  /** Progress, on standard error. */
  progress(text: string): void
  /** What went wrong, on standard error. */
  mistake(sentences: readonly string[], exit: number): void
}

const NARROW = 80

export function processOutput(json: boolean): Output {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  return {
    json,
    terminal: process.stdout.isTTY === true,
    columns: process.stdout.columns ?? NARROW,
    result: (value, human) => say(json ? JSON.stringify(value, null, 2) : human()),
    entry: (value, human) => say(json ? JSON.stringify(value) : human()),
    line: (text = '') => void (json || say(text)),
    progress: (text) => void (json || process.stderr.write(`${text}\n`)),
    mistake(sentences, exit) {
      const text = json
        ? JSON.stringify({ error: sentences.join('\n'), exit })
        : sentences.map((sentence) => `${red('error')} ${sentence}`).join('\n')
      process.stderr.write(`${text}\n`)
    },
  }
}

/** `styleText` asks the stream itself: no colours off a terminal, with NO_COLOR or a dumb one. */
const style = (format: Parameters<typeof styleText>[0], stream: NodeJS.WriteStream) => {
  return (text: string) => styleText(format, text, { stream })
}

export const bold = style('bold', process.stdout)
export const dim = style('dim', process.stdout)
export const green = style('green', process.stdout)
export const yellow = style('yellow', process.stdout)
export const cyan = style('cyan', process.stdout)
export const alarm = style('red', process.stdout)
const red = style('red', process.stderr)

const COLOUR = /\x1b\[[0-9;]*m/g
const width = (text: string) => text.replace(COLOUR, '').length
const pad = (text: string, to: number) => text + ' '.repeat(Math.max(0, to - width(text)))

/** Aligned columns under a dim head; the last column is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, n) => Math.max(title.length, ...rows.map((r) => width(r[n]!))))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => (n === cells.length - 1 ? cell : pad(cell, widths[n]!)))
      .join('  ')
      .trimEnd()
  return [dim(line(head)), ...rows.map(line)].join('\n')
}
