/**
 * The output of a command: tables and lines for people, one JSON document with `--json`. Results go
 * to standard output, progress and errors to standard error. `writeText` is the only function that
 * writes to them: it escapes the control characters of callers (§12.7).
 */
import { once } from 'node:events'
import { styleText } from 'node:util'
import { createLog } from '../kernel/log.ts'
import { printableLines } from '../kernel/printable.ts'
import { systemRandom } from '../kernel/random.ts'

export interface Output {
  readonly json: boolean
  /** Whether standard output is a terminal. */
  readonly terminal: boolean
  readonly columns: number
  /** Prints the result. `human` is called without `--json` only. */
  result(value: unknown, human: () => string): void
  /** Prints one of several results: a line, or with `--json` a JSON document. */
  entry(value: unknown, human: () => string): void
  /** Prints a line to standard error; silent with `--json`. */
  progress(text: string): void
  /** Prints sentences to standard error. */
  error(sentences: readonly string[], exit: number): void
}

const NARROW = 80

export function processOutput(json: boolean): Output {
  const print = (text: string) => writeText(process.stdout, `${text}\n`)
  return {
    json,
    terminal: process.stdout.isTTY === true,
    columns: process.stdout.columns ?? NARROW,
    result: (value, human) => print(json ? JSON.stringify(value, null, 2) : human()),
    entry: (value, human) => print(json ? JSON.stringify(value) : human()),
    progress: (text) => void (json || writeText(process.stderr, `${text}\n`)),
    error(sentences, exit) {
      const text = json
        ? JSON.stringify({ error: sentences.join('\n'), exit })
        : sentences.map((sentence) => `${red('error')} ${sentence}`).join('\n')
      writeText(process.stderr, `${text}\n`)
    },
  }
}

/** Prints errors as lines of the log of a service: a collector of JSON reads them too. */
export function logOutput(): Pick<Output, 'error'> {
  const destination = { write: (line: string) => writeText(process.stderr, line) }
  const log = createLog({ level: 'info', destination })
  return {
    error: (sentences, exit) => {
      for (const sentence of sentences) log.fatal({ exit }, sentence)
    },
  }
}

/** Begins the colours of this process. Text of a caller cannot contain it. */
const OWN_COLOUR = `\x1b${systemRandom().bytes(8).toString('hex')}`
const COLOUR = new RegExp(`${OWN_COLOUR}(\\[[0-9;]*m)`)

/** Writes a text. Of control characters, it writes line feeds and own colours only. */
export function writeText(stream: NodeJS.WriteStream, text: string): void {
  const parts = text.split(COLOUR)
  stream.write(
    parts.map((part, at) => (at % 2 === 1 ? `\x1b${part}` : printableLines(part))).join(''),
  )
}

/** Writes a part of a long result, and waits while the reader of standard output is slower. */
export async function writeOut(text: string): Promise<void> {
  writeText(process.stdout, text)
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
}

/** `styleText` adds no colours off a terminal, with NO_COLOR or on a dumb terminal. */
const style = (format: Parameters<typeof styleText>[0], stream: NodeJS.WriteStream) => {
  const colours = styleText(format, ' ', { stream }).replaceAll('\x1b', OWN_COLOUR)
  const [start = '', end = ''] = colours.split(' ')
  return (text: string) => `${start}${text}${end}`
}

export const bold = style('bold', process.stdout)
export const dim = style('dim', process.stdout)
export const green = style('green', process.stdout)
export const yellow = style('yellow', process.stdout)
export const cyan = style('cyan', process.stdout)
export const alarm = style('red', process.stdout)
const red = style('red', process.stderr)

const width = (text: string) =>
  text.split(COLOUR).reduce((sum, part, at) => sum + (at % 2 === 1 ? 0 : part.length), 0)
const pad = (text: string, to: number) => text + ' '.repeat(Math.max(0, to - width(text)))

/** Returns aligned columns under dim titles. The last column is not padded. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, n) => Math.max(title.length, ...rows.map((r) => width(r[n]!))))
  const line = (row: readonly string[]) =>
    row
      .map((cell, n) => (n === row.length - 1 ? cell : pad(cell, widths[n]!)))
      .join('  ')
      .trimEnd()
  return [dim(line(titles)), ...rows.map(line)].join('\n')
}

/** Returns a count with separators: `1,200,000`. */
export const formatCount = (count: number): string => count.toLocaleString('en')

/** Returns `1 row`, `1,200 rows`. */
export const countRows = (count: number): string =>
  `${formatCount(count)} ${count === 1 ? 'row' : 'rows'}`
