/**
 * Erases a person (§18.11): its credential ends at once, and a job removes the personal fields and
 * the sign-in name from everything that the installation has of the person. The row stays, so that
 * other rows still refer to it.
 */
import { hash } from 'node:crypto'
import type { PersonPlace } from '../../declare/resources/person-rows.ts'
import type { PersonalData } from '../../declare/resources/personal-data.ts'
import { runOnce } from '../../declare/resources/repeat-keys.ts'
import type { RowCredentials } from '../../declare/resources/rows.ts'
import type { Actor } from '../../history/audit/actor.ts'
import type { ClearingGrant, ClearingWarrant } from '../../history/audit/chain.ts'
import { type AuditSigner, recordAudit } from '../../history/audit/store.ts'
import { personErased } from '../../history/events/engine-types.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { type Administration, DEFAULT_CUSTOMER } from '../../identity/access/administration.ts'
import { findCustomer } from '../../identity/access/store.ts'
import { deleteMailTokensOf } from '../../identity/people/mail-tokens.ts'
import { namespaceOf } from '../../identity/people/namespace.ts'
import type { Directory } from '../../identity/people/person.ts'
import { listAddressesOfOthers } from '../../identity/people/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import { Continuation, type JobAttempt, type JobHandler } from '../../platform/jobs/job.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import type { JsonOf } from '../../protocol/fields/members.ts'
import type { personErasure } from './operations.ts'
import {
  collectingSteps,
  erasingSteps,
  lateSteps,
  type PersonStepDeps,
  placeOf,
} from './person-steps.ts'
import { PersonValues, type StoredPersonValues } from './person-values.ts'
import {
  ATTEMPTS,
  decodeState,
  encodeState,
  LATE_MS,
  LATE_PASS,
  openWarrant,
  SETTLE_MS,
  TIMEOUT_MS,
  type WalkState,
  walkSteps,
} from './slices.ts'

const JOB = 'erase_person'
/** Erases rows of requests that ended after the erasure. */
const LATE_JOB = 'erase_late_rows'
const ACTION = 'person.erase'
/**
 * The first pass collects, the second erases, the next ones erase what requests and attempts wrote
 * meanwhile. Rows that others write go on to mention common values, so that the passes have an end.
 */
const LAST_PASS = 4
/** Within this time after a pass, engines have evicted the bodies that it has replaced. */
const EVICTION_MS = 2_500
/** The passes of a part that others follow: it collects, and erases in the data of others. */
const LAST_PASS_OF_PART = 1

export interface PersonErasureDeps extends PersonStepDeps {
  readonly admin: Administration
  readonly directory: Directory
  readonly credentials: RowCredentials
  readonly record: RecordEvent
  readonly enqueue: EnqueueJob
}

/** The input of a job. */
interface ErasureInput extends WalkState {
  readonly values: StoredPersonValues
  /** Whether the values that this pass erases are followed by others, which the data still has. */
  readonly isPart?: boolean
  /** It names the person. */
  readonly warrant: ClearingWarrant
  readonly erased?: ErasedCounts
}

/** The rows that the erasure has changed or removed, by the names of the steps. */
type ErasedCounts = Record<string, number>

export interface PersonErasure {
  readonly handlers: readonly JobHandler[]
  /** Ends the credential and enqueues the job. Throws 404. */
  begin(admin: Administration, id: number, actor: Actor): Promise<JsonOf<typeof personErasure>>
}

/** Covers the values of a job, of which its writer chooses none, by a proof. */
const digestOf = (values: StoredPersonValues): string => hash('sha256', JSON.stringify(values))

/** Returns the collected values with a warrant for rows that have them. */
function withWarrant(
  trail: AuditSigner,
  { action, target, scopes, cause }: ClearingGrant,
  collected: PersonValues,
): Pick<ErasureInput, 'values' | 'warrant'> {
  const values = collected.stored()
  const grant = { action, target, scopes, cause, values: digestOf(values) }
  return { values, warrant: trail.warrantFor(grant) }
}

/** Each request has a warrant of its own. */
const workOf = ({ warrant: _, ...work }: ErasureInput): string => JSON.stringify(work)

/** Finds the row of a person, also one without a credential. Throws 404. */
export async function findPersonRow(
  reader: Reader,
  { directory, personal }: { readonly directory: Directory; readonly personal: PersonalData },
  id: number,
) {
  const scope = await directory.scopeOf(reader, id)
  const row = scope && (await personal.rows[0]!.read(reader, { scope, id }, id))
  if (!row) throw new Failure('not_found')
  return { scope, row }
}

const POLICY = { kind: 'erasure', attempts: ATTEMPTS, timeoutMs: TIMEOUT_MS } as const

export function createPersonErasure(deps: PersonErasureDeps): PersonErasure {
  const { directory, personal, credentials, enqueue } = deps
  const { resource } = directory
  return {
    handlers: [
      { ...POLICY, name: JOB, run: (attempt) => runErasure(deps, attempt) },
      { ...POLICY, name: LATE_JOB, run: (attempt) => runLate(deps, attempt) },
    ],
    begin: (admin, id, actor) =>
      admin.write(async (tx) => {
        const { scope, row } = await findPersonRow(tx, deps, id)
        const values = new PersonValues({ id: String(id), resource })
        personal.report(resource, row, values.add.bind(values))
        await credentials.remove(tx, { scope, id, principal: undefined, actor })
        const { no: namespace } = namespaceOf(directory.names, scope)
        const folded = foldName(String(row[directory.username] ?? ''))
        await deleteMailTokensOf(tx, { resource, namespace, folded, person: id })
        const reason = { action: ACTION, target: String(id) } as const
        const cause = await recordAudit(tx, { ...reason, actor, scope }, admin)
        const input: ErasureInput = {
          ...{ pass: 0, changed: 0 },
          ...withWarrant(admin.trail, { ...reason, scopes: [scope], cause }, values),
        }
        const job = await enqueue(tx, {
          kind: 'erasure',
          name: JOB,
          scope,
          input: encodeState(input),
          rowKey: `${JOB} ${id}`,
          isMerged: true,
          isSameWork: (other) => workOf(decodeState(other)) === workOf(input),
        })
        return { id, erasing_since: isoTime(admin.clock.now()), job_id: job }
      }),
  }
}

async function runErasure(
  deps: PersonErasureDeps,
  { id: job, input, customer, signal, isAwaited }: JobAttempt,
): Promise<Continuation | undefined> {
  const { admin } = deps
  const { clock } = admin
  const { values: stored, warrant: storedWarrant, ...rest } = decodeState<ErasureInput>(input)
  const { erased = {}, isPart = false, ...state } = rest
  const expected = { action: ACTION, values: digestOf(stored) } as const
  const warrant = await openWarrant({ db: deps.db, trail: admin.trail }, storedWarrant, expected)
  if (!warrant) return undefined
  const { person, values, places } = await openPlaces(deps, warrant, stored, { customer, isPart })
  const stepsOf = state.pass === 0 ? collectingSteps : erasingSteps
  const steps = stepsOf({ ...deps, warrant }, person, places).map((step) => ({
    ...step,
    async slice(position: Parameters<typeof step.slice>[0]) {
      const result = await step.slice(position)
      if (result.changed > 0) erased[step.name] = (erased[step.name] ?? 0) + result.changed
      return result
    },
  }))
  const next = await walkSteps(steps, state, {
    ...{ clock, signal, isAwaited },
    settleMs: stored.part === 0 ? SETTLE_MS : 0,
    ...(isPart
      ? { lastPass: LAST_PASS_OF_PART }
      : { lastPass: LAST_PASS, passRestMs: EVICTION_MS }),
  })
  if (!next && isPart) values.beginNextPart()
  if (next || isPart) {
    const rest: Pick<ErasureInput, 'isPart'> & WalkState = {
      ...(next ?? { pass: 0, changed: 0 }),
      isPart: state.pass === 0 ? values.hasNextPart : isPart,
    }
    return new Continuation(
      clock.now(),
      encodeState({ ...rest, ...withWarrant(admin.trail, warrant, values), erased }),
    )
  }
  // Of the values the id alone is stored longer: it finds the requests of the person.
  const owner = new PersonValues({ id: String(person.id), resource: deps.directory.resource })
  const late = encodeState({ ...LATE_PASS, ...withWarrant(admin.trail, warrant, owner) })
  await end(deps, person, job, { erased, values_left: values.left, cause: warrant.cause }, late)
  return undefined
}

/** Returns what an erasure looks for, and where. */
async function openPlaces(
  { db, directory: { resource } }: PersonErasureDeps,
  warrant: ClearingWarrant,
  stored: StoredPersonValues,
  { customer, isPart }: Pick<JobAttempt, 'customer'> & { readonly isPart: boolean },
) {
  const person = { scope: warrant.scopes[0] as Scope, id: Number(warrant.target) }
  const { id } = person
  const values = new PersonValues({ id: String(id), resource }, stored)
  values.noteOthers(await listAddressesOfOthers(db, { resource, id }, values.addresses()))
  const place = placeOf(person, customer!)
  const others = { ...(await findCustomer(db, DEFAULT_CUSTOMER))!, hasUnowned: true }
  return { person, values, places: { place, others, values, isPart } }
}

async function runLate(
  deps: PersonErasureDeps,
  { input, customer, signal }: JobAttempt,
): Promise<Continuation | undefined> {
  const { clock } = deps.admin
  const { values: stored, warrant, ...state } = decodeState<ErasureInput>(input)
  const opened = await openPlaces(deps, warrant, stored, { customer, isPart: false })
  const steps = lateSteps({ ...deps, warrant }, opened.person, opened.places)
  const next = await walkSteps(steps, state, { clock, signal, lastPass: LATE_PASS.pass })
  return next && new Continuation(clock.now(), encodeState({ values: stored, warrant, ...next }))
}

/**
 * Records the end, the numbers of rows, and of values that it did not search for. A run that was
 * killed after it repeats nothing.
 */
async function end(
  { db, admin, record, enqueue, directory: { resource } }: PersonErasureDeps,
  { scope, id }: PersonPlace,
  job: string,
  detail: { readonly erased: ErasedCounts; readonly values_left: number; readonly cause: string },
  late: string,
): Promise<void> {
  await db.write(async (tx) => {
    const now = admin.clock.now()
    const action = 'person.erased'
    await runOnce(tx, { scope, word: action, key: job, now }, async () => {
      const event = await record(tx, scope, personErased(id, resource, isoTime(now)))
      const actor = { kind: 'system', id: 'erasure' } as const
      await recordAudit(tx, { actor, action, target: String(id), scope, detail }, admin)
      const runAt = now + LATE_MS
      await enqueue(tx, { kind: 'erasure', name: LATE_JOB, scope, input: late, runAt })
      return event.id
    })
  })
}
