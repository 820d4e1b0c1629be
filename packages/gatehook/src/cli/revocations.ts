/**
 * Applies the revocations since a backup to restored data, from an export of the audit trail
 * (§18.5). `revocation-actions.ts` says what each action takes.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { App } from '../app.ts'
import type { ExportLine, ExportReport } from '../history/audit/chain-export.ts'
import { ChainError } from '../history/audit/chain-writer.ts'
import { describeFileError } from '../kernel/files.ts'
import { isoTime } from '../kernel/time.ts'
import { findDataEnd, noteAppliedRevocations } from '../operate/restore/state.ts'
import { ApiError, withLocalApi } from './api.ts'
import { configOf, type Input } from './command.ts'
import { CommandError } from './errors.ts'
import { cliActor } from './installation.ts'
import {
  type Apply,
  applications,
  type Entry,
  ErasedDetail,
  endings,
  entryOf,
  type Installation,
  replacements,
} from './revocation-actions.ts'

/** Reads an export: a JSON object in each line. Throws `CommandError` for another file. */
async function* readExport(file: string): AsyncGenerator<ExportLine> {
  let line = 0
  try {
    for await (const text of createInterface({ input: createReadStream(file, 'utf8') })) {
      line++
      yield JSON.parse(text)
    }
  } catch (error) {
    const isSyntax = error instanceof SyntaxError
    if (!isSyntax && !(error as NodeJS.ErrnoException).code) throw error
    const reason = isSyntax ? `line ${line} is no JSON` : describeFileError(error)
    throw new CommandError(`${file} cannot be read: ${reason}.`)
  }
}

export interface AppliedRevocations {
  /** The rows of the export, all of which were verified. */
  readonly rows: number
  readonly applied: number
  /** Objects that were created after the backup, or deleted by a later row of the trail. */
  readonly missing: number
  /** The export has every row of the trail from before this instant. */
  readonly through: string
  /** Whether the export has an end, after the backup. */
  readonly complete: boolean
  /** Tasks of an operator, so that owners can use their objects again. */
  readonly follow_up: readonly string[]
  /** Objects that may still have a permission that was taken. */
  readonly failures: readonly string[]
}

/**
 * Verifies the whole export, then applies the rows that the database lacks. A repetition has the
 * same result. Throws `CommandError` for an export that is broken, of another installation, or
 * without the expected hash.
 */
export const applyRevocations = (
  input: Input,
  file: string,
  expect: string | undefined,
): Promise<AppliedRevocations> =>
  withLocalApi(input, undefined, async (api, app) => {
    const report = await app.audit.verifyExport(readExport(file), expect).catch((error) => {
      throw error instanceof ChainError ? new CommandError(error.message) : error
    })
    const dataEnd = await findDataEnd(app.db, app.administration.clock.now())
    const { accessTokenTtlS } = configOf(input)
    const installation = { api, app, accessTokenTtlS, issuerRules: new Map() }
    const application = await applyRows(installation, readExport(file), report.sharedThrough)
    const result = {
      rows: report.rows,
      ...application,
      through: isoTime(report.end?.at ?? report.last.at),
      complete: isComplete(report, dataEnd),
    }
    if (result.complete && result.failures.length === 0) await settle(app, result)
    return result
  })

/** An export that ends before the backup has nothing of the time since. */
const isComplete = ({ end, last, sharedThrough }: ExportReport, dataEnd: number): boolean =>
  end !== undefined && (last.seq! > sharedThrough || end.at >= dataEnd)

type Application = Pick<AppliedRevocations, 'applied' | 'missing' | 'follow_up' | 'failures'>

/** An application of a row of the trail, and the advice for an operator after it. */
interface Repetition {
  readonly apply: Apply
  readonly entry: Entry
  readonly action: string
  readonly advice?: string
}

const subjectOf = ({ action, entry }: Repetition) => `${action.split('.')[0]} ${entry.target}`

/** Applies the rows after those that the database has. */
export async function applyRows(
  installation: Installation,
  lines: AsyncIterable<ExportLine>,
  sharedThrough: number,
): Promise<Application> {
  let [applied, missing] = [0, 0]
  const failures: string[] = []
  const followUp = new Set<string>()
  /** Steps after all rows, so that no later row revives what they end; one for each object. */
  const last = new Map<string, Repetition>()
  const perform = async (step: Repetition): Promise<void> => {
    try {
      await step.apply(installation, step.entry)
      applied++
      if (step.advice) followUp.add(`${subjectOf(step)} ${step.advice}`)
    } catch (error) {
      if (isMissing(error)) {
        missing++
        return
      }
      const ending = endings[step.action.split('.')[0]!]
      const reason = (error as Error).message
      if (!ending || step.apply === ending || !isRejected(error)) {
        failures.push(`${step.action} of ${step.entry.target}: ${reason}`)
        return
      }
      const advice = `is disabled, because ${step.action} cannot be applied: ${reason}`
      last.set(`${subjectOf(step)} ${step.entry.scope}`, { ...step, apply: ending, advice })
    }
  }
  for await (const line of lines) {
    if (!('seq' in line) || line.seq! <= sharedThrough) continue
    const { action, target } = line
    const entry = entryOf(line)
    const replacement = replacements[action]
    // A row without details may have replaced the factor.
    if (
      replacement &&
      (entry.isErased || replacement.isReplaced?.(installation.app, entry) !== false)
    ) {
      last.set(`${action} ${target}`, { ...replacement, entry, action })
    }
    const apply = applications[action]
    if (apply) await perform({ apply, entry, action })
  }
  // A step that fails adds the ending of its object.
  for (const step of last.values()) await perform(step)
  return { applied, missing, follow_up: [...followUp], failures }
}

const isMissing = (error: unknown): boolean =>
  (error instanceof ApiError && error.response.status === 404) ||
  (error as { code?: unknown }).code === 'not_found'

/** Whether the service rejected the action, and would do so again. */
function isRejected(error: unknown): boolean {
  if (error instanceof ErasedDetail) return true
  const status =
    error instanceof ApiError ? error.response.status : (error as { status?: unknown }).status
  return typeof status === 'number' && status >= 400 && status < 500
}

async function settle({ db, administration }: App, result: AppliedRevocations) {
  const { failures: _, ...detail } = result
  const entry = { actor: cliActor(), detail }
  await db.write((tx) => noteAppliedRevocations(tx, entry, administration))
}
