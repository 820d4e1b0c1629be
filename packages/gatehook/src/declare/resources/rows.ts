/**
 * The changes of a row: create, update, act, remove. Each runs in one transaction with its events,
 * counter and checks (§6.5), in the newest shape.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import { createRowId, type RowId } from '../../kernel/row-id.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Tx, Value } from '../../platform/storage/database.ts'
import { runTogether } from '../../platform/storage/together.ts'
import { timeOf } from '../../platform/storage/transaction-time.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import { addToTotal } from '../../protocol/lists/counters.ts'
import { type ComputeRow, rowComputer, storedComputations } from './computed.ts'
import { derivedFields } from './derived.ts'
import { ownPrincipalOf, seedPrincipal } from './own-principal.ts'
import { readChangedValues, readRowChanges, requireNoState } from './own-values.ts'
import { wordsOf } from './own-words.ts'
import type { RowReach } from './ownership.ts'
import {
  type ActionDefinition,
  type AnyRow,
  type ResourceDefinition,
  STATE_FIELD,
} from './resource.ts'
import type {
  ResourceRows,
  RowCredentials,
  RowDeps,
  RowTarget,
  RunRules,
  UsernamePermission,
  WrittenRow,
} from './row-changes.ts'
import { createRowChecks, type RowChecks } from './row-checks.ts'
import { createDeletion, credentialOf } from './row-deletion.ts'
import { eventRecorder } from './row-events.ts'
import { withSearchIndex } from './search-index.ts'
import { rowDecoder, type VersionShape } from './shape.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import { stampFields } from './stamps.ts'
import { createRowStore, type RowStore } from './store.ts'

export type { ResourceRows, RowCredentials, RowTarget, RunRules, WrittenRow }

export function createRows(
  definition: ResourceDefinition,
  newest: VersionShape,
  deps: RowDeps,
): ResourceRows {
  const { clock, random, rowsOf, resources } = deps
  const { name, events, softDeletion } = definition
  const { idPrefix } = definition.fields.id!
  const store = withSearchIndex(createRowStore(definition, resources), definition)
  const checks = createRowChecks(definition, (resource) => rowsOf(resource).store)
  const runRules = withReferencesChecked(definition, deps.runRules, checks)
  const decode = rowDecoder(definition)
  const creationStamps = stampFields(definition, ['created', 'updated'])
  const eventType = (suffix: string) => events.find((type) => type.endsWith(`.${suffix}`))

  const lockRow = rowLocker(store.lock, decode)
  const hasRules = definition.rules.length > 0
  const computeRow = withChecksFirst(createRowComputer(definition, newest), checks)
  const complete = changeCompleter(definition, runRules, computeRow)
  const writeChanges = changeWriter(definition, { store, checks, computeRow }, deps)
  const recordEvent = eventRecorder(definition, newest, deps, { store, decode })
  const insertRow = rowInserter(definition, { store, checks }, recordEvent, deps)
  const createUncounted: ResourceRows['create'] = async (tx, reach, values) => {
    const row: AnyRow = { ...newest.defaults, ...values }
    const now = timeOf(tx, clock)
    for (const field of creationStamps) row[field] = now
    if (softDeletion) row[DELETED_FIELD] = null
    if (idPrefix !== undefined) row.id = createRowId(idPrefix, now, random)
    if (hasRules) {
      const rows = { after: computeRow(row) }
      Object.assign(row, await runRules(tx, { reach }, 'create', rows))
    }
    computeRow(row)
    checks.checkRules(row)
    return insertRow(tx, reach, row)
  }
  const addCreated: ResourceRows['addCreated'] = async (tx, { scope }, { id }, count) =>
    addToTotal(tx, scope, name, id as RowId, count)

  const deletion = createDeletion(definition, deps, {
    store,
    checks,
    decode,
    lock: rowLocker(store.lockForDeletion, decode),
    complete,
    recordEvent,
  })

  return {
    definition,
    newest,
    store,
    decode,
    async get(reader, reach, id) {
      const cells = await store.find(reader, reach, id)
      if (!cells) throw new Failure('not_found')
      return decode(cells)
    },
    async findUnique(reader, reach, fields, values) {
      const cells = await store.findUnique(reader, reach, fields, values)
      return cells && decode(cells)
    },
    lock: lockRow,
    async create(tx, reach, values) {
      const written = await createUncounted(tx, reach, values)
      await addCreated(tx, reach, written.row, 1)
      return written
    },
    createUncounted,
    addCreated,
    async update(tx, target, edit) {
      const row = await lockRow(tx, target)
      const sent = edit(row)
      const edited = await complete(tx, target, 'update', row, sent)
      const after = await writeChanges(tx, target, row, { sent, edited })
      // A patch without a change records no event.
      return recordEvent(tx, target.reach, after && eventType('updated'), after ?? row)
    },
    act: actionRunner(definition, newest, deps, { lockRow, complete, writeChanges, recordEvent }),
    async emit(tx, reach, type, id) {
      const cells = await store.find(tx, reach, id)
      if (!cells) throw new Failure('not_found')
      await recordEvent(tx, reach, type, decode(cells))
    },
    ...deletion,
  }
}

const rowLocker =
  (lock: RowStore['lock'], decode: (cells: readonly Value[]) => AnyRow) =>
  async (tx: Tx, { reach, id, guard }: RowTarget): Promise<AnyRow> => {
    const cells = await lock(tx, reach, id)
    if (!cells) throw new Failure('not_found')
    const row = decode(cells)
    guard?.(row)
    return row
  }

/** The parts of a change of a locked row. */
interface RunnerParts {
  readonly lockRow: (tx: Tx, target: RowTarget) => Promise<AnyRow>
  readonly complete: ReturnType<typeof changeCompleter>
  readonly writeChanges: ReturnType<typeof changeWriter>
  readonly recordEvent: ReturnType<typeof eventRecorder>
}

/** Returns the function that runs an action on a row. */
function actionRunner(
  definition: ResourceDefinition,
  newest: VersionShape,
  { clock, ownLog }: Pick<RowDeps, 'clock' | 'ownLog'>,
  { lockRow, complete, writeChanges, recordEvent }: RunnerParts,
): ResourceRows['act'] {
  return async (tx, target, action, input) => {
    const row = await lockRow(tx, target)
    requireState(action, row[STATE_FIELD] as string)
    const source = `action ${action.name} of ${definition.name}`
    const principal = ownPrincipalOf(target.reach.principal ?? seedPrincipal(target.reach.scope))
    const now = timeOf(tx, clock)
    const run = action.run?.({ row, input, now, principal, ...wordsOf(tx, ownLog) }) ?? {}
    requireNoState(definition, source, run)
    const edited = readRowChanges(newest, source, run, row)
    const sent = { ...edited }
    if (action.to !== undefined) edited[STATE_FIELD] = action.to
    const completed = await complete(tx, target, action.name, row, edited)
    const after = await writeChanges(tx, target, row, { sent, edited: completed })
    return recordEvent(tx, target.reach, action.emits, after ?? row)
  }
}

/**
 * Rules run before the references are checked, and often read the row that one names. If that row
 * does not exist, the failure names the field, as without a rule. References inside values are
 * checked before.
 */
const withReferencesChecked =
  (
    { fields, rules }: ResourceDefinition,
    runRules: RunRules,
    checks: RowParts['checks'],
  ): RunRules =>
  async (tx, target, operation, rows) => {
    const { before, after } = rows
    if (after && rules.some((rule) => rule.operation === operation)) {
      const changed = Object.keys(fields).filter(
        (name) => !before || !isSameValue(before[name], after[name]),
      )
      const values = Object.fromEntries(changed.map((name) => [name, after[name]]))
      await checks.checkInnerFirst(tx, target.reach, values)
    }
    try {
      return await runRules(tx, target, operation, rows)
    } catch (error) {
      const isMissing = error instanceof Failure && error.code === 'not_found'
      if (isMissing && after) await checks.checkReferences(tx, target.reach, after)
      throw error
    }
  }

/**
 * Returns a function that inserts a row and records its event. Where each statement is a round
 * trip, it inserts the row beside the check of its references. So the creation begins before both.
 */
function rowInserter(
  { name, events, fields }: ResourceDefinition,
  { store, checks }: Pick<RowParts, 'store' | 'checks'>,
  recordEvent: ReturnType<typeof eventRecorder>,
  { record }: Pick<RowDeps, 'record'>,
) {
  const type = events.find((event) => event.endsWith('.created'))
  const derived = derivedFields(fields)
  const announce = async (tx: Tx, { scope }: RowReach) =>
    type ? record.announce?.(tx, scope as Scope, { type, collection: name }) : undefined
  return async (tx: Tx, reach: RowReach, row: AnyRow): Promise<WrittenRow> => {
    // Its statements depend on each other: the row must not be there for the later ones.
    await checks.checkInner(tx, reach, row)
    budgetOf(tx).charge({ rows: 1 })
    const [, id, announced] = await runTogether(
      tx,
      () => checks.checkFields(tx, reach, row),
      () => checks.checkUnique(() => store.insert(tx, reach.scope, row)),
      () => announce(tx, reach),
    )
    row.id = id
    for (const [field] of derived) delete row[field] // null until now
    return recordEvent(tx, reach, type, row, announced)
  }
}

/** Returns the fields that identify a person: the sign-in name, the name, e-mail addresses. */
const identityFieldsOf = ({ fields, signsIn }: ResourceDefinition): string[] =>
  Object.keys(fields).filter(
    (field) => field === signsIn?.username || field === 'name' || fields[field]!.kind === 'email',
  )

/** The values of a change: those of its caller, and with those that rules add. */
interface RowChange {
  readonly sent: AnyRow
  readonly edited: AnyRow
}

/**
 * Returns a function that writes the fields that differ, with their checks and the credential of
 * the row. Every change of a sign-in name passes it (§6.9). Fields that the caller sends and does
 * not see count as different. It returns the changed row, or undefined if no field differs.
 */
function changeWriter(
  definition: ResourceDefinition,
  { store, checks, computeRow }: RowParts,
  { clock, credentials }: RowDeps,
) {
  const updateStamps = stampFields(definition, ['updated'])
  const identityFields = identityFieldsOf(definition)
  const storedFields = storedComputations(definition)
  return async (tx: Tx, target: RowTarget, row: AnyRow, { sent, edited }: RowChange) => {
    const hidden = hiddenNames(target, sent)
    const differs = ([field, value]: [string, unknown]) =>
      hidden.includes(field) || !isSameValue(value, row[field])
    const changes = Object.entries(edited).filter(
      (change) => differs(change) && !definition.fields[change[0]]?.computed,
    )
    if (changes.length === 0) return undefined
    const values: AnyRow = Object.fromEntries(changes)
    for (const field of updateStamps) values[field] = timeOf(tx, clock)
    const after: AnyRow = computeRow({ ...row, ...values })
    for (const field of storedFields) {
      if (!isSameValue(after[field], row[field])) values[field] = after[field]
    }
    const isChanged = (field: string) => field in values || after[field] !== row[field]
    const identity = credentials ? identityFields.filter(isChanged) : []
    if (identity.length > 0) {
      const change = usernamePermissionOf(definition, target, row, sent, after)
      await credentials?.authorize(tx, credentialOf(target), change)
    }
    checks.checkRules(after)
    await checks.checkReferences(tx, target.reach, values)
    await checks.checkUnique(() => store.update(tx, target.reach.scope, target.id, values))
    if (identity.length > 0) await credentials?.rename(tx, credentialOf(target), identity, after)
    return after
  }
}

/** Classifies a change of a row that signs in. A hidden sign-in name counts as changed. */
function usernamePermissionOf(
  { signsIn }: ResourceDefinition,
  { hidden, permitsUsername }: RowTarget,
  row: AnyRow,
  sent: AnyRow,
  after: AnyRow,
): UsernamePermission {
  const { username } = signsIn!
  const isSent = username in sent && (hidden?.has(username) || sent[username] !== row[username])
  if (!isSent && after[username] === row[username]) return 'none'
  return isSent && permitsUsername?.(after[username]) ? 'permitted' : 'protected'
}

const NO_NAMES: readonly string[] = []

/** Returns the fields of a change that its caller does not see. */
const hiddenNames = ({ hidden }: RowTarget, edited: AnyRow): readonly string[] =>
  hidden && hidden.size > 0 ? Object.keys(edited).filter((name) => hidden.has(name)) : NO_NAMES

/** The parts of the rows of a resource that its changes share. */
interface RowParts {
  readonly store: RowStore
  readonly checks: RowChecks
  readonly computeRow: ComputeRow
}

/** Returns the function that computes fields. A value that its field rejects is a bug (500). */
export function createRowComputer(
  definition: ResourceDefinition,
  newest: VersionShape,
): ComputeRow {
  const names = Object.keys(definition.computations)
  if (names.length === 0) return (row) => row
  const compute = rowComputer(definition, true)
  return (row) => {
    compute(row)
    const values = Object.fromEntries(names.map((name) => [name, row[name]]))
    const source = `.compute() of ${definition.name}`
    return Object.assign(row, readChangedValues(newest, source, values))
  }
}

/** A row that a check rejects is 422, also if its values cannot be computed. */
const withChecksFirst =
  (compute: ComputeRow, { checkUncomputed }: RowChecks): ComputeRow =>
  (row) => {
    try {
      return compute(row)
    } catch (error) {
      checkUncomputed(row)
      throw error
    }
  }

/** Returns a function that adds the values of rules to those of a change. */
function changeCompleter(
  { rules }: ResourceDefinition,
  runRules: RunRules,
  computeRow: ComputeRow,
) {
  const hasRules = rules.length > 0
  return async (
    tx: Tx,
    target: RowTarget,
    operation: string,
    before: AnyRow,
    edited: AnyRow,
  ): Promise<AnyRow> => {
    if (!hasRules) return edited
    const after = computeRow({ ...before, ...edited })
    return { ...edited, ...(await runRules(tx, target, operation, { before, after })) }
  }
}

function requireState(action: ActionDefinition, state: string): void {
  if (!action.from || action.from.includes(state)) return
  const from = action.from.join(' or ')
  const subject = action.scope === false ? 'The change' : `"${action.name}"`
  const message = `${subject} is possible from ${from}; the present state is ${state}.`
  const reason = `is ${state}, not ${from}`
  const errors = [{ pointer: `/${STATE_FIELD}`, code: 'invalid_state', message: reason }] as const
  throw new Failure('invalid_state', message, { errors })
}
