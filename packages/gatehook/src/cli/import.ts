/** `gatehook import RESOURCE FILE`: creates the rows of a file by the API, or by its batches. */

import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { withApi } from '../declare/resources/api-resources.ts'
import type { ResourceDefinition } from '../declare/resources/resource.ts'
import { wallClock } from '../kernel/clock.ts'
import { closestSentence } from '../kernel/closest.ts'
import { systemRandom } from '../kernel/random.ts'
import { type Api, ApiError, customerCommands } from './api.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'
import type { ApiResponse } from './http-client.ts'
import { type ImportLine, readImportLines } from './import-rows.ts'
import { countRows } from './output.ts'
import { createProgress } from './progress.ts'
import { retryLimited } from './retry-limited.ts'

/** Lines with an error, after which the import ends. */
const ERRORS_MAX = 100
/** Lines of a request. Those of a file are divided alike, whatever the declaration is. */
const BATCH_LINES = 100
/** A body has at most 1 MiB. */
const BATCH_CHARACTERS = 300_000
/** A request of an earlier import that still runs is awaited for two minutes. */
const EARLIER_WAIT_MS = 1_000
const EARLIER_WAITS_MAX = 120
/** Imports of a file within 24 hours that each try a row which failed before. */
const ATTEMPTS_MAX = 50
/** Failures of one row; others end the import. */
const ROW_STATUSES: ReadonlySet<number> = new Set([400, 409, 413, 422])

interface LineError {
  readonly line: number
  readonly error: string
  readonly pointer?: string
  readonly message: string
}

interface ImportResult {
  readonly resource: string
  readonly dry_run: boolean
  readonly created: number
  /** Rows that an earlier import of the file created. */
  readonly repeated: number
  readonly failed: number
  /** The last line that was sent; a later import can begin after it. */
  readonly last_line: number
  readonly is_complete: boolean
  readonly errors: readonly LineError[]
}

type NewRow = Extract<ImportLine, { body: object }>

interface BatchResponse {
  readonly items: readonly { readonly status: number; readonly body: RowFailure }[]
}

interface RowFailure {
  readonly error: string
  readonly message: string
  readonly errors?: readonly { readonly pointer?: string; readonly message: string }[]
}

const errorsOf = (line: number, { error, message, errors = [] }: RowFailure): LineError[] => {
  const [first] = errors
  const pointer = first?.pointer?.replace(/^\/items\/\d+/, '')
  return [{ line, error, ...(pointer && { pointer }), message: first?.message ?? message }]
}

const codeOf = ({ response }: ApiError): string | undefined =>
  (response.body as Partial<RowFailure> | undefined)?.error

/** Failures of the key of a request say nothing of its rows, and a part of them has another key. */
const isRowFailure = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  ROW_STATUSES.has(error.response.status) &&
  !codeOf(error)?.startsWith('idempotency_')

/** An earlier import may have ended before its last request: waits for that one. */
async function awaitEarlier<T>(send: () => Promise<T>): Promise<T> {
  for (let waits = 0; ; waits++) {
    try {
      return await send()
    } catch (error) {
      const isRunning = error instanceof ApiError && codeOf(error) === 'idempotency_in_progress'
      if (!isRunning || waits === EARLIER_WAITS_MAX) throw error
      await delay(EARLIER_WAIT_MS)
    }
  }
}

interface SenderOptions {
  readonly isDryRun: boolean
  /**
   * Names the import: a request with its name and lines creates rows once (§11.1). Which lines a
   * request has depends on the file alone.
   */
  readonly id: string
  /** Receives the number of rows that an earlier import with this id created. */
  readonly countRepeated: (rows: number) => void
}

/** Returns a function that creates rows, and returns the errors of those that failed. */
function createSender(
  api: Api,
  { name, batch }: ResourceDefinition,
  { isDryRun, id, countRepeated }: SenderOptions,
) {
  const version = api.service.versions.at(-1)!.name
  const pathOf = (path: string) => `/api/${version}/${name}${path}`
  const post = (path: string, body: unknown, lines: string, attempt = 1) => {
    const key = `import-${name}-${id}-${lines}${attempt > 1 ? `-${attempt}` : ''}`
    return retryLimited(
      async (): Promise<Pick<ApiResponse, 'body' | 'isReplayed'>> =>
        isDryRun
          ? { body: await api.request('POST', `${pathOf(path)}?dry_run=true`, body) }
          : awaitEarlier(() => api.postOnce(pathOf(path), body, key)),
      delay,
    )
  }
  const sendOne = async ({ line, body }: NewRow, lines: string): Promise<LineError[]> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const { isReplayed } = await post('', body, lines, attempt)
        if (isReplayed) countRepeated(1)
        return []
      } catch (error) {
        if (!isRowFailure(error)) throw error
        // The cause of a failure of an earlier import can have ended since.
        const isEarlier = error.response.isReplayed && attempt < ATTEMPTS_MAX
        if (!isEarlier) return errorsOf(line, error.response.body as RowFailure)
      }
    }
  }
  const sendEach = async (rows: readonly NewRow[]): Promise<LineError[]> => {
    const errors: LineError[] = []
    for (const row of rows) errors.push(...(await sendOne(row, linesOf([row]))))
    return errors
  }
  const sendBatch = async (rows: readonly NewRow[], lines: string): Promise<LineError[]> => {
    if (rows.length === 1) return sendOne(rows[0]!, lines)
    const sent = { items: rows.map(({ body }) => body), atomic: false }
    let response: Pick<ApiResponse, 'body' | 'isReplayed'>
    try {
      response = await post('/batch', sent, lines)
    } catch (error) {
      if (!isRowFailure(error)) throw error
      const fitting = fittingRows(error.response.body as RowFailure)
      if (fitting > 0 && fitting < rows.length) {
        const [first, rest] = [rows.slice(0, fitting), rows.slice(fitting)]
        const errors = await sendBatch(first, linesOf(first))
        return [...errors, ...(await sendBatch(rest, linesOf(rest)))]
      }
      // A text with NUL, for example, makes the whole body unreadable: the batch created no row.
      return sendEach(rows)
    }
    const { items } = response.body as BatchResponse
    const failed = rows.filter((_, at) => items[at]!.status >= 400)
    if (response.isReplayed) {
      countRepeated(rows.length - failed.length)
      // The cause of these failures can have ended since.
      return sendEach(failed)
    }
    return items.flatMap(({ status, body }, at) =>
      status < 400 ? [] : errorsOf(rows[at]!.line, body),
    )
  }
  /** The first lines of batches and the lines of rows share names, should `batch` change. */
  return async (rows: readonly NewRow[], firstLine: number): Promise<LineError[]> => {
    if (batch) return sendBatch(rows, String(firstLine))
    const errors: LineError[] = []
    for (const row of rows) errors.push(...(await sendOne(row, String(row.line))))
    return errors
  }
}

const linesOf = (rows: readonly NewRow[]): string => `${rows[0]!.line}-${rows.at(-1)!.line}`

/** Returns the number of items that fit in one change, after a batch that was too large; or 0. */
function fittingRows({ error, errors = [] }: RowFailure): number {
  const [, item] = /^\/items\/(\d+)$/.exec(errors[0]?.pointer ?? '') ?? []
  return error === 'change_too_large' ? Number(item ?? 0) : 0
}

function resourceOf(api: Api, name: string): ResourceDefinition {
  const resources = withApi(api.service.resources)
  const definition = resources.find((resource) => resource.name === name)
  if (!definition) {
    const names = resources.map((resource) => resource.name)
    throw new UsageError(`There is no resource ${name}. ${closestSentence(name, names)}`)
  }
  if (!definition.access.create) throw new CommandError(`The API cannot create rows of ${name}.`)
  return definition
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    throw new UsageError(`There is no file ${file}.`)
  }
}

/**
 * Returns the digest of a file. Throws before the first row is sent: a file of another encoding
 * would change its texts.
 */
async function digestUtf8(file: string): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const digest = createHash('sha256')
  try {
    for await (const part of createReadStream(file)) {
      decoder.decode(part, { stream: true })
      digest.update(part)
    }
    decoder.decode()
    return digest.digest('base64url')
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(`${file} is not UTF-8. Save or convert it as UTF-8 first.`)
  }
}

const CHANGED =
  'An import of this file within 24 hours sent these rows in another form: the declaration of ' +
  'the resource changed since. No row was created twice. Remove the rows that exist from the ' +
  'file, or create all of them once more with --again.'

/** Returns the function that adds to a failure where an import has ended. */
const endAt = (line: number, isDryRun: boolean) => (error: unknown) => {
  if (!(error instanceof CommandError)) throw error
  const place = `The import ended at line ${line}: the rows of the lines before it were sent.`
  if (error instanceof ApiError && codeOf(error) === 'idempotency_key_reused') {
    throw new CommandError([CHANGED, place], error.exit)
  }
  const repeat = isDryRun
    ? ''
    : ' The same command within 24 hours continues, and creates no row twice.'
  throw new CommandError([...error.sentences, `${place}${repeat}`], error.exit)
}

async function importFile(
  api: Api,
  definition: ResourceDefinition,
  {
    file,
    isDryRun,
    isAgain,
    out,
  }: {
    file: string
    isDryRun: boolean
    isAgain: boolean
    out: Parameters<typeof createProgress>[0]
  },
): Promise<ImportResult> {
  const bytes = sizeOf(file)
  const digest = await digestUtf8(file)
  const input = createReadStream(file, 'utf8')
  const report = createProgress(out, wallClock)
  let repeated = 0
  const send = createSender(api, definition, {
    isDryRun,
    id: isAgain ? systemRandom().bytes(16).toString('base64url') : digest,
    countRepeated: (rows) => {
      repeated += rows
    },
  })
  const errors: LineError[] = []
  let rows: NewRow[] = []
  let [lines, firstLine, characters] = [0, 0, 0]
  let sentRows = 0
  let lastLine = 0
  const flush = async () => {
    if (rows.length > 0) {
      errors.push(...(await send(rows, firstLine).catch(endAt(rows[0]!.line, isDryRun))))
    }
    sentRows += rows.length
    rows = []
    lines = 0
    characters = 0
    report({ step: 'import', fraction: input.bytesRead / Math.max(1, bytes), done: sentRows })
  }
  let failedLines = 0
  for await (const line of readImportLines(input, definition, /\.csv$/i.test(file))) {
    lastLine = line.line
    const { characters: size = 0 } = line
    if (characters + size > BATCH_CHARACTERS) await flush()
    if (lines === 0) firstLine = line.line
    lines += 1
    characters += size
    if ('problem' in line) {
      errors.push({ line: line.line, error: 'invalid_line', message: line.problem })
      failedLines += 1
    } else rows.push(line)
    if (lines === BATCH_LINES) await flush()
    if (errors.length >= ERRORS_MAX) break
  }
  const isComplete = errors.length < ERRORS_MAX
  await flush()
  input.destroy()
  return {
    resource: definition.name,
    dry_run: isDryRun,
    created: sentRows - (errors.length - failedLines) - repeated,
    repeated,
    failed: errors.length,
    last_line: lastLine,
    is_complete: isComplete,
    errors: errors.toSorted((a, b) => a.line - b.line),
  }
}

export const importCommand = customerCommands().action({
  name: 'import <RESOURCE> <FILE>',
  summary: 'creates the rows of a file: NDJSON, or CSV (.csv)',
  description:
    'Creates a row for each line of a file by the API, with its checks and events, in the newest ' +
    'version. Members that clients never write, such as id, are ignored.',
  options: [
    ['--dry-run', 'validates every row and creates none'],
    ['--again', 'creates the rows of a file that was imported in the last 24 hours once more'],
  ],
  examples: [
    ['gatehook import parts parts.ndjson --dry-run', 'reports the errors by line'],
    ['gatehook import parts parts.csv --mode live', 'the first line has the names of the fields'],
  ],
  act(api, { args: [name = '', file = ''], options, out }) {
    const definition = resourceOf(api, name)
    const isDryRun = options.dryRun === true
    return importFile(api, definition, { file, isDryRun, isAgain: options.again === true, out })
  },
  describe({ resource, dry_run, created, repeated, failed, last_line, is_complete, errors }) {
    const lines = errors.map(
      ({ line, pointer, message }) => `line ${line}: ${pointer ? `${pointer} ` : ''}${message}`,
    )
    const verb = dry_run ? 'would be created' : 'created'
    const end = is_complete ? '' : ` Ended at line ${last_line}, after ${ERRORS_MAX} errors.`
    const earlier = `An earlier import of the file created ${countRows(repeated)} (--again).`
    const summary = `${resource}: ${countRows(created)} ${verb}, ${failed} failed.${end}`
    return [...lines, repeated > 0 ? `${summary} ${earlier}` : summary].join('\n')
  },
  exit: ({ failed }) => (failed > 0 ? EXIT.failed : EXIT.ok),
})
