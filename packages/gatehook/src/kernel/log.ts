/**
 * The log: JSON lines, written by pino. Callers do not log secrets; redaction is a second defense.
 * URLs are logged without the values of secret parameters.
 */
import { pino, stdSerializers, symbols } from 'pino'
import { wallClock } from './clock.ts'
import { REDACTED_TEXT, withoutCredentials, withoutIssued } from './credential-shapes.ts'
import { describeThrown } from './failure.ts'
import { withoutSecretValues } from './named-secrets.ts'
import { type OutputState, outputState } from './output-state.ts'
import { printableLines } from './printable.ts'
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

interface LogOptions {
  readonly level: string
  /** The name of the node, which each line carries (§18.10); undefined: a command. */
  readonly node?: string | undefined
  /** Default: standard output. */
  readonly destination?: pino.DestinationStream
}

export function createLog(options: LogOptions): Log {
  return pino(
    {
      level: options.level,
      base: options.node === undefined ? null : { node: options.node },
      timestamp: timeMember,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { detail: describeCause, err: describeError },
      redact: {
        paths: REDACTED.flatMap((name) => [name, `*.${name}`, `headers["${name}"]`]),
        censor: '[redacted]',
      },
    },
    safeStream(options.destination ?? standardOutput()),
  )
}

/**
 * Removes credentials from lines, and escapes the control characters that JSON leaves: a terminal
 * displays the log (§12.7).
 */
const safeStream = (
  output: pino.DestinationStream & { flush?: (done?: (error?: Error) => void) => void },
) => ({
  write: (lines: string) => output.write(printableLines(withoutIssued(lines))),
  flush: (done?: (error?: Error) => void) => (output.flush ? output.flush(done) : done?.()),
})

/** A log of lines whose members the caller formats as JSON, without secrets. */
export interface LineLog {
  /** `format` returns the members: `"name":value,…`. */
  write(level: 'info' | 'error', format: () => string): void
}

/**
 * Returns a log that adds lines to those of `log`. Formatting the members of one kind of line takes
 * a tenth of the time of pino, which loops over the members of any object and redacts them.
 */
export function createLineLog(log: Log): LineLog {
  const output = (log as unknown as Record<symbol, pino.DestinationStream>)[symbols.streamSym]!
  const { node } = log.bindings()
  const nodeMember = node === undefined ? '' : `,"node":${JSON.stringify(node)}`
  return {
    write(level, format) {
      if (!log.isLevelEnabled(level)) return
      output.write(`{"level":"${level}"${timeMember()}${nodeMember},${format()}}\n`)
    },
  }
}

const timeMember = (): string => `,"time":"${isoTime(wallClock.now())}"`

/**
 * Returns a thrown value without its further members, which may hold values of a row (PostgreSQL).
 * Own code can throw any value.
 */
function describeError(thrown: unknown): object {
  if (thrown instanceof Error) {
    try {
      const { type, message, stack, code } = stdSerializers.err(thrown)
      return { type, message, stack, code }
    } catch {} // a member that cannot be read
  }
  return { type: 'thrown', message: describeThrown(thrown).slice(0, THROWN_CHARACTERS) }
}

const THROWN_CHARACTERS = 1_000
const CAUSES_MAX = 3

/**
 * Returns an error with its message, which JSON leaves out, and those of its causes. Other members,
 * which may hold values of a row (PostgreSQL), stay out. Other values are returned as they are.
 */
function describeCause(detail: unknown, depth = 0): unknown {
  if (!(detail instanceof Error)) return detail
  const { name, message, stack, cause } = detail
  const { code } = detail as NodeJS.ErrnoException
  const hasCause = cause !== undefined && depth < CAUSES_MAX
  return { name, code, message, stack, ...(hasCause && { cause: describeCause(cause, depth + 1) }) }
}

const same = (value: unknown): unknown => value

/** Writes a line of another thread's log, which has described the errors. */
export function relayLine(log: Log, line: string): void {
  const { level, time: _, msg, ...fields } = JSON.parse(line)
  const relay = log.child({}, { serializers: { detail: same, err: same } })
  const write = relay[level as 'info']
  if (typeof write === 'function') write.call(relay, fields, msg)
}

/** A busy service writes about 200 lines at once, because each write uses the thread pool. */
const BUFFER_BYTES = 65_536
/** The lines of an idle service are written after this time, before the buffer is full. */
const FLUSH_MS = 250

/** Lines that wait for the reader of standard output; further ones are counted and dropped. */
const WAITING_BYTES_MAX = 32 * 2 ** 20

let opened: pino.DestinationStream | undefined

/** The logs of a process share one stream, and its listener at the exit. */
const standardOutput = (): pino.DestinationStream => (opened ??= openStandardOutput())

function openStandardOutput(): pino.DestinationStream {
  const output = pino.destination({
    dest: 1,
    sync: false,
    minLength: BUFFER_BYTES,
    maxWrite: 2 * BUFFER_BYTES,
    maxLength: WAITING_BYTES_MAX,
    periodicFlush: FLUSH_MS,
  })
  endWithoutFailedLines(output)
  observeOutput(output, outputState)
  return batchLines(output, outputState)
}

function observeOutput(output: ReturnType<typeof pino.destination>, state: OutputState): void {
  output.on('error', ({ code }: NodeJS.ErrnoException) => state.noteError(code))
  output.on('write', () => state.noteWrite())
  output.on('drain', () => state.noteDrain())
}

/**
 * Lines that a full disk rejects wait like those without a reader, and the service goes on. At the
 * exit they are dropped: `flushSync` of pino repeats a write until it succeeds.
 */
function endWithoutFailedLines(output: ReturnType<typeof pino.destination>): void {
  let isFailing = false
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  process.prependListener('exit', () => {
    if (isFailing) output.destroy()
  })
}

/**
 * Passes the lines of one turn of the event loop to pino as one text. For a single line, pino
 * spends four times as long on counting its bytes as on the rest.
 */
export function batchLines(
  output: Pick<ReturnType<typeof pino.destination>, 'on' | 'write' | 'flush'>,
  state: Pick<OutputState, 'pass' | 'drop'>,
) {
  let lines = ''
  let count = 0
  let droppedCount = 0
  let isDropped = false
  output.on('drop', () => {
    isDropped = true
  })
  /** Writes a text, or drops all of it. */
  const write = (text: string, textLines: number) => {
    isDropped = false
    state.pass(textLines)
    output.write(droppedCount > 0 ? droppedLine(droppedCount) + text : text)
    if (isDropped) state.drop(textLines)
    droppedCount = isDropped ? droppedCount + textLines : 0
  }
  const pass = () => {
    const [text, textLines] = [lines, count]
    lines = ''
    count = 0
    if (text !== '') write(text, textLines)
  }
  process.prependListener('exit', pass) // before the listener of pino, which writes its buffer
  return {
    write(line: string) {
      if (lines === '') setImmediate(pass)
      lines += line
      count++
    },
    /** Called by pino's `flush`. */
    flush(done?: (error?: Error) => void) {
      pass()
      output.flush(done)
    },
  }
}

const droppedLine = (count: number): string =>
  `{"level":"warn"${timeMember()},"lines":${count},"msg":"standard output was full or not ` +
  'read, and lines of the log were dropped"}\n'

const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Removes secrets from a URL: the values of secret parameters, and credentials anywhere, for
 * example in `?apikey=gk_...`, `?x=1;api_key=gk_...` or the path.
 *
 * @param secretFields names of fields that are declared secret, which parameters may have as well
 */
export const redactUrl = (url: string, secretFields = NO_NAMES): string =>
  withoutCredentials(withoutUserinfo(withoutSecretValues(url, secretFields)))

/** Removes user and password of a URL in a text. */
const withoutUserinfo = (text: string): string =>
  text.includes('@') ? text.replace(/\/\/[^/@]*@/g, `//${REDACTED_TEXT}@`) : text
