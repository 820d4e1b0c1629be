/** Says for operators why the database failed a request. Pure. */
import { Failure } from '../../kernel/failure.ts'
import { ConstraintError, SchemaError, StorageError } from './database.ts'
import { DiscardedRowError, ReplacedStatementError } from './discarded-rows.ts'
import {
  isConnectionLost,
  isDamage,
  isDiskFull,
  isHung,
  isLockTimeout,
  isPoolFull,
  isServerFull,
  isStandby,
  isTimeout,
  isUnopened,
  NOT_NULL,
  primaryFaultOf,
  serverErrorOf,
} from './postgres-errors.ts'
import { type PrimaryFault, primaryFaults } from './primary-fault.ts'
import {
  FileFaultError,
  isBusy,
  isDiskFault,
  isNotOpened,
  isReadOnly,
  resultCodeOf,
} from './sqlite-errors.ts'
import { MovedFileError } from './sqlite-place.ts'
import { INSTALLATION_MOVED, isInstallationMoved } from './transaction.ts'

/** Whether the database could not serve a statement, or be opened; a later try may succeed. */
export const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof StorageError ||
  (error instanceof Failure && error.code === 'storage_unavailable')

/** Whether the database stores nothing now; it may answer reads. */
export const storesNothing = (error: unknown): boolean =>
  isStorageUnavailable(error) || (error instanceof Failure && error.code === 'durability_lost')

/** Whether the files of the database were moved away from this process. */
export const isMoved = (error: unknown): boolean =>
  error instanceof Failure && error.detail instanceof MovedFileError

/** Returns `instead` of the result while the database is away, or stores nothing. */
export const whileAvailable = <T>(result: Promise<T>, instead: T): Promise<T> =>
  result.catch((error: unknown) => {
    if (storesNothing(error)) return instead
    throw error
  })

/** Returns the sentence of an error that a lost table, column or index causes. */
export const describeSchemaError = ({ part, message }: SchemaError): string =>
  `The database lacks ${part} that the node uses: ${message}.`

/** `insufficient_privilege`, also where a policy would hide rows (`row_security` is off). */
const NO_PRIVILEGE = '42501'

const POLICY_OF = /row-level security policy for table "(\w{1,63})"/

/** The end of the name of a partition. */
const PARTITION = /_(?:\d{8}|past|future)$/

/** `sequence_generator_limit_exceeded`. */
const SEQUENCE_ENDED = '2200H'

/**
 * Returns the sentence of an error that the database returned, and that the engine does not know:
 * its constraint, or its state and its function, without values. Undefined for an error of other
 * code. The declared kinds are by column: `orders.amount`.
 */
export function describeUnknownError(
  error: unknown,
  declaredKinds: ReadonlyMap<string, string> = new Map(),
): string | undefined {
  const message = 'The log has its message.'
  if (error instanceof DiscardedRowError) {
    const place = error.table === undefined ? '' : ` of the table ${error.table}`
    const repair = error.repair === undefined ? '' : ` Drop it: ${error.repair}.`
    return (
      `A trigger of the database discards a row${place} without an error. It is none of the ` +
      `engine.${repair}`
    )
  }
  if (error instanceof ReplacedStatementError) {
    return `A rule of the database replaces statements of this service: ${error.repair}. ${message}`
  }
  if (error instanceof ConstraintError) {
    const name = error.index === undefined ? '' : ` ${error.index}`
    const table = serverErrorOf(error.cause)?.table
    const place = table === undefined ? '' : ` of the table ${table}`
    const ids = error.kind === 'unique' ? describeSequence(error.cause) : ''
    const constraint = `the ${error.kind} constraint${name}${place}`
    return `The database refused a row by ${constraint}. ${ids}${message}`
  }
  if (error instanceof SchemaError) return describeSchemaError(error)
  const resultCode = resultCodeOf(error)
  if (resultCode !== undefined) {
    return `SQLite refused a statement with the code ${resultCode}. ${message}`
  }
  const sent = serverErrorOf(error)
  if (!sent) return undefined
  const { state, raisedBy, constraint, table, column } = sent
  if (state === NOT_NULL && table !== undefined && column !== undefined) {
    const refusal = `The column ${column} of the table ${table} refuses a row without a value`
    const whole = table.replace(PARTITION, '')
    const kind = declaredKinds.get(`${whole}.${column}`)
    return kind === undefined
      ? `${refusal}. The declaration lacks it: ALTER TABLE ${table} ALTER COLUMN ${column} ` +
          'DROP NOT NULL.'
      : `${refusal}, and is declared as ${kind}: another program has changed it. The warning ` +
          '`schema` and gatehook doctor have the repair.'
  }
  const secured = POLICY_OF.exec((error as Error).message)?.[1]
  if (state === NO_PRIVILEGE && secured !== undefined) {
    return (
      `Row level security of the table ${secured} applies to the role of the node: ` +
      `ALTER TABLE ${secured} NO FORCE ROW LEVEL SECURITY. ${message}`
    )
  }
  if (state === NO_PRIVILEGE && raisedBy === undefined) {
    return (
      'The role of the node lacks a right on a table, or a policy of row level security would ' +
      'hide rows from it: GRANT the right, or ALTER TABLE … NO FORCE ROW LEVEL SECURITY. ' +
      message
    )
  }
  if (state === SEQUENCE_ENDED && raisedBy === undefined) {
    // The message has no other name.
    const name = /"([^"\s]{1,128})"/.exec((error as Error).message)?.[1] ?? 'NAME'
    return (
      `The sequence ${name} has reached its MAXVALUE, so that it gives no further id: ` +
      `ALTER SEQUENCE ${name} NO MAXVALUE. ${message}`
    )
  }
  const origin = raisedBy === undefined ? 'PostgreSQL' : `The function ${raisedBy} of the database`
  const names = [
    constraint && `the constraint ${constraint}`,
    column && `the column ${column}`,
    table && `the table ${table}`,
  ].filter(Boolean)
  const place = names.length === 0 ? '' : `, by ${names.join(' of ')}`
  const drop =
    state.startsWith('23') && constraint && table
      ? `If it is none of the service: ALTER TABLE ${table} DROP CONSTRAINT ${constraint}. `
      : ''
  return `${origin} refused a statement with the state ${state}${place}. ${drop}${message}`
}

/** A key of numbers: the id that a sequence has given exists. */
const NUMBERED = /^Key \(([\w, ]{1,200})\)=\([\d, ]{1,200}\) already exists/

/** Names the cause of a key that an id repeats, and its remedy; empty for another key. */
function describeSequence(error: unknown): string {
  const { detail, constraint, table } = (error ?? {}) as Record<string, unknown>
  const column = NUMBERED.exec(String(detail))?.[1]?.split(', ').at(-1)
  if (!column || !/_pkey$/.test(String(constraint)) || !/^\w{1,64}$/.test(String(table))) return ''
  const sequence = `pg_get_serial_sequence('${table}', '${column}')`
  return (
    'If the database gave the id, its sequence was set back or counts down: SELECT setval(' +
    `${sequence}, (SELECT max(${column}) + 1000000 FROM ${table})). `
  )
}

type IsCause = (error: unknown) => boolean

const CAUSES: readonly (readonly [IsCause, string])[] = [
  [
    isInstallationMoved,
    `${INSTALLATION_MOVED} After the move, start the nodes with the address of the other one.`,
  ],
  [
    isLockTimeout,
    'Statements waited up to 5 s for a lock of another transaction: of a node that hangs, or of ' +
      'another program.',
  ],
  [
    isBusy,
    'Another process holds the lock of the database for more than 5 s: a command, or another ' +
      'program.',
  ],
  [isTimeout, 'A statement took longer than its limit, or a replica did not confirm a commit.'],
  [isPoolFull, 'Other transactions of the node held all of its connections for 2 s.'],
  [isDiskFull, 'The disk of the database is full.'],
  [
    isReadOnly,
    'The file system of the database is read-only, or this user may not write its files. After ' +
      'an error of the disk, Linux mounts it so: see dmesg, and mount it for writes.',
  ],
  [isDiskFault, 'The disk of the database fails with an I/O error: see dmesg.'],
  [
    isNotOpened,
    'A file of the database cannot be opened or created: the process has too few file ' +
      'descriptors (ulimit -n), the disk has no inode left (df -i), or this user no right.',
  ],
  [isDamage, 'A page of the database is damaged.'],
]

/** An administrator, a shutdown, `idle_session_timeout` and the limits of transactions. */
const ENDED_STATES = /^(57P01|57P05|25P03|25P04)$/
const ENDED =
  'The server of the database ended the session of this request: pg_terminate_backend, its ' +
  'shutdown, or a timeout of sessions. A single one needs nothing.'
const isEnded: IsCause = (error) => ENDED_STATES.test(serverErrorOf(error)?.state ?? '')

/**
 * Returns the cause of `storage_unavailable`; undefined if the error does not have it. `fault`:
 * that of the primary, as the node knows it then.
 */
export function describeStorageFailure(
  error: unknown,
  fault?: PrimaryFault | undefined,
): string | undefined {
  const cause = error instanceof Failure ? error.detail : error
  if (cause instanceof SchemaError) return describeSchemaError(cause)
  if (cause instanceof FileFaultError) return cause.message
  if (isUnopened(cause) || isStandby(cause)) return primaryFaults[fault ?? primaryFaultOf(cause)]
  if (isHung(cause)) return primaryFaults.hung
  if (isEnded(cause) && (fault === undefined || fault === 'pooler_stuck')) return ENDED
  if (isConnectionLost(cause) || isServerFull(cause)) return primaryFaults[fault ?? 'lost']
  return CAUSES.find(([isCause]) => isCause(cause))?.[1]
}
