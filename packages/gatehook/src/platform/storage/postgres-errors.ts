/** Translates SQLSTATEs and network error codes to the errors that `Database` documents. Pure. */
import { Failure } from '../../kernel/failure.ts'
import { ConstraintError, SchemaError, StorageError, StorageWaitError } from './database.ts'
import { DurabilityLostError } from './durability-errors.ts'
import { UNREADABLE } from './postgres-protocol.ts'
import { type PrimaryFault, refusalFaultOf, SlowServerError } from './primary-fault.ts'
import {
  installationMoved,
  MOVED_MESSAGE,
  storageDamaged,
  storageUnavailable,
} from './transaction.ts'

interface PostgresError extends Error {
  readonly code?: string
  /** The schema of the constraint. */
  readonly schema?: string
  readonly constraint?: string
  readonly table?: string
  readonly column?: string
  readonly severity?: string
  /** The functions in which it occurred. */
  readonly where?: string
  readonly detail?: string
}

/** Errors of TLS, of node:tls and of pg: the certificate, the handshake, a server without TLS. */
const TLS_CODE = /^(CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|EPROTO$)/
const TLS_TEXT =
  /^(The server does not support SSL connections|There was an error establishing an SSL)/
/** The connection broke or was not established; a new connection may work. */
const CONNECTION_LOST = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED'],
  UNREADABLE,
])
/** The name of the host has no address, or its resolver gives no answer. */
const UNRESOLVED = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'])
/** No packet reaches the host. */
const UNREACHABLE = new Set([
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
  ...UNRESOLVED,
])
/** 57P01–57P05: the server ends sessions or is starting. 08: connection exceptions. */
const CONNECTION_LOST_STATE = /^(08|57P0)/
/** Errors of pg about a broken connection, which have no code. */
const CONNECTION_LOST_TEXT =
  /^(Connection terminated|Client (has encountered|was closed)|timeout ex(ceeded|pired))/
/**
 * 53 resources, 58 system, 57014 timeout, 25006 standby, 25P03 idle, 3D000 no such database,
 * 55000 closed, XX000 internal.
 */
const UNAVAILABLE = /^(53|58|57014|25006|25P03|25P04|3D000|55000|55P03|XX00)/
/** Damaged data, a damaged index, a page that cannot be read, a file that is missing. */
const DAMAGED = new Set(['XX001', 'XX002', '58030', '58P01'])
/** No such schema, table or column. */
const SCHEMA_LACKS = new Set(['3F000', '42P01', '42703'])
/** An ON CONFLICT names columns without a unique index. */
const INDEX_LACKS = '42P10'
/** Text, numbers or instants that PostgreSQL cannot store or read; they come from the client. */
const UNSTORABLE = new Set([
  ...['22001', '22003', '22007', '22008', '22021', '22P02', '22P03', '22P05', '54000'],
])
/** Serialization failure, deadlock: the transaction was rolled back and can be repeated. */
const RETRYABLE = new Set(['40001', '40P01'])
/** Constraints that compare a row with others. */
const VIOLATIONS = new Set(['23505', '23503', '23001', '23P01'])

const LOCK_TIMEOUT = '55P03'

/** No connection of the pool became free in time. */
const POOL_FULL_TEXT = 'timeout exceeded when trying to connect'

/** The server is a standby, and the address requires the primary. */
export class StandbyError extends Error {
  override readonly name = 'StandbyError'
  readonly code = '25006'
  readonly fault: PrimaryFault = 'standby'

  constructor(
    message = 'the server is a standby, and no other host of the address is the primary',
  ) {
    super(message)
  }
}

/** A statement waited for locks for longer than it may in all. */
export class LockWaitError extends Error {
  override readonly name = 'LockWaitError'
  readonly code = LOCK_TIMEOUT
}

/** A connection gave no answer while its server answered on others. */
export class HungConnectionError extends Error {
  override readonly name = 'HungConnectionError'
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the connection hung while the server answered others')
  }
}

export const isHung = (error: unknown): boolean => error instanceof HungConnectionError

/**
 * Whether the server is a standby: 25006 read-only transaction, 0A000 at the begin of a transaction
 * that writes.
 */
export const isStandby = (error: unknown): boolean => codeOf(error) === '25006'

/** Of the server, and of PgBouncer. */
const NO_CONNECTION_LEFT = '53300'
const NO_CONNECTION_LEFT_TEXT = /^no more connections allowed/
/** Texts of pg for a connection that has not opened in time. */
const OPENING_TIMEOUT_TEXT = /^(timeout expired$|Connection terminated due to connection timeout)/

const messageOf = (error: unknown): string =>
  error instanceof Error ? readText(error, 'message') : ''

/** Returns the error of a begin: 0A000 is a standby. Other statements fail with it, too. */
export const beginErrorOf = (error: unknown): unknown =>
  isUnsupported(error) ? new StandbyError() : error

/** Whether TLS failed: the certificate is not trusted, or the server has no TLS. */
const isTlsFailure = (error: unknown): boolean =>
  TLS_CODE.test(codeOf(error)) || TLS_TEXT.test(messageOf(error))

/** Errors of connections that could not be opened: no statement has caused them. */
const unopened = new WeakSet<object>()

/** Marks the error of a connection that did not open: requests that need it are 503. */
export function markUnopened(error: unknown): void {
  if (error instanceof Error) unopened.add(error)
}

/** Whether no connection could be opened. */
export const isUnopened = (error: unknown): boolean => error instanceof Error && unopened.has(error)

/** Whether the server has no connection left; it answers on those that are open. */
export const isServerFull = (error: unknown): boolean =>
  codeOf(error) === NO_CONNECTION_LEFT || NO_CONNECTION_LEFT_TEXT.test(messageOf(error))

/** Whether a connection has not opened in time. */
export const isOpeningLate = (error: unknown): boolean =>
  OPENING_TIMEOUT_TEXT.test(messageOf(error))

/** Whether no further connection opened, while those that are open may be usable. */
export const cannotGrow = (error: unknown): boolean =>
  isServerFull(error) ||
  isOpeningLate(error) ||
  isUnresolved(error) ||
  error instanceof SlowServerError

/** Whether a server, or the node for want of trust, refuses a connection that opens. */
export const isRefusal = (error: unknown): boolean =>
  (hasState(error) && !isConnectionLost(error) && !isStandby(error)) || isTlsFailure(error)

/** Whether a connection outside the pool could not be opened, while open ones may be usable. */
export const isOpeningRefused = (error: unknown): boolean =>
  cannotGrow(error) || (isUnopened(error) && isRefusal(error))

/** Of sockets, of the watch of a server, and of pg; the last one is that of `query_timeout`. */
const SILENT_TEXT = /^(timeout ex|Connection terminated due to|Query read timeout)/

/** Whether no address of the host was found: its server may be sound. */
export const isUnresolved = (error: unknown): boolean => UNRESOLVED.has(codeOf(error))

const isUnknownHost = (error: unknown): boolean => codeOf(error) === 'ENOTFOUND'
const isUnreachable = (error: unknown): boolean => UNREACHABLE.has(codeOf(error))

/** Whether a pooler reports that it has no connection to the server. */
export const isPoolerReport = (error: unknown): boolean => codeOf(error).startsWith('08')

/** Whether no connection of the pool became free in time. */
export const isPoolFull = (error: unknown): boolean => messageOf(error) === POOL_FULL_TEXT

const codeOf = (error: unknown): string => readText(error, 'code')

type TextMember = Exclude<keyof PostgresError, 'cause'>

/** Returns a member of a value that own code has thrown; reading it can throw, too. */
function readText(thrown: unknown, name: TextMember): string {
  try {
    const text = ((thrown ?? {}) as PostgresError)[name]
    return typeof text === 'string' ? text : ''
  } catch {
    return ''
  }
}

/** Whether a server has sent the error: it has a state of five characters. */
const hasState = (error: unknown): boolean => /^[0-9A-Z]{5}$/.test(codeOf(error))

/** An error that a server has sent: its state and names, no values. */
export interface ServerError {
  readonly state: string
  /** The function that raised it. */
  readonly raisedBy: string | undefined
  readonly constraint: string | undefined
  readonly table: string | undefined
  readonly column: string | undefined
}

const NAME = /^\S{1,128}$/

/** Undefined for any other error: own code throws `EPERM`, which looks like a state. */
export function serverErrorOf(error: unknown): ServerError | undefined {
  if (!hasState(error) || readText(error, 'severity') === '') return undefined
  const [, raisedBy] = /PL\/pgSQL function ([^\s(]{1,128})\(/.exec(readText(error, 'where')) ?? []
  const nameOf = (member: 'constraint' | 'table' | 'column') =>
    NAME.exec(readText(error, member))?.[0]
  return {
    ...{ state: codeOf(error), raisedBy },
    ...{ constraint: nameOf('constraint'), table: nameOf('table'), column: nameOf('column') },
  }
}

/** A column that refuses null, which a statement leaves out. */
export const NOT_NULL = '23502'

export const isConnectionLost = (error: unknown): boolean =>
  CONNECTION_LOST.has(codeOf(error)) ||
  isUnreachable(error) ||
  CONNECTION_LOST_STATE.test(codeOf(error)) ||
  CONNECTION_LOST_TEXT.test(messageOf(error))

/** Whether the same address may work later: a name that no server knows does not. */
const mayOpenLater = (error: unknown): boolean =>
  (isConnectionLost(error) && !isUnknownHost(error)) || isStandby(error) || isServerFull(error)

const TLS_ADVICE =
  ' A host that is not local must have a valid certificate: add sslrootcert=FILE to the address ' +
  'for an authority of your own, or sslmode=disable for a private network.'

/** Returns the error of a connection that a process needs at its start, as one sentence. */
export function cannotBeOpened(
  { label, verifiesByDefault }: { readonly label: string; readonly verifiesByDefault: boolean },
  error: unknown,
): StorageError {
  const message = messageOf(error) || codeOf(error)
  const reason = isCold(error) ? `${message}, because hot_standby is off` : message
  const isTls = verifiesByDefault && /SSL|certificate|altnames/i.test(reason)
  const sentence = `The database ${label} cannot be opened: ${reason}.${isTls ? TLS_ADVICE : ''}`
  const Unopened = mayOpenLater(error) ? StorageWaitError : StorageError
  return new Unopened(sentence, { cause: error })
}

const isSilence = (error: unknown): boolean =>
  codeOf(error) === 'ETIMEDOUT' || SILENT_TEXT.test(messageOf(error))
/** The server starts, stops or recovers. */
const isAtStart = (error: unknown): boolean => /^57P0[1-3]$/.test(codeOf(error))

/** `hot_standby` is off: the server never accepts connections before its promotion. */
const isCold = (error: unknown): boolean =>
  codeOf(error) === '57P03' && /^Hot standby mode is disabled/.test(readText(error, 'detail'))

/** Reports of PgBouncer about users and databases; other ones say that the server is away. */
const POOLER_REJECTS =
  /no such (database|user)|authentication failed|does not exist|login failed|not allowed/i
const isPoolerRejection = (error: unknown): boolean =>
  isPoolerReport(error) && POOLER_REJECTS.test(messageOf(error))

const FAULTS: readonly (readonly [(error: unknown) => boolean, PrimaryFault])[] = [
  [isServerFull, 'full'],
  [isStandby, 'standby'],
  [isTlsFailure, 'untrusted'],
  [isCold, 'cold'],
  [isAtStart, 'starting'],
  [isHung, 'hung'],
  [(error) => error instanceof SlowServerError, 'slow'],
  [isSilence, 'silent'],
  [isUnknownHost, 'unknown_host'],
  [isUnresolved, 'unresolved'],
  [isUnreachable, 'unreachable'],
  [isPoolerRejection, 'pooler_rejected'],
  [isPoolerReport, 'pooler_unserved'],
  [(error) => codeOf(error) === 'ECONNREFUSED', 'refused'],
  [isConnectionLost, 'lost'],
]

/** Returns the fault behind an error of a connection that did not open, or that broke. */
export const primaryFaultOf = (error: unknown): PrimaryFault =>
  (error instanceof StandbyError ? error.fault : undefined) ??
  refusalFaultOf(codeOf(error), messageOf(error)) ??
  FAULTS.find(([isFault]) => isFault(error))?.[1] ??
  'rejected'

/**
 * Whether a prepared `SELECT *` is invalid because another node has added a column. A new
 * connection prepares it again.
 */
export const isStalePlan = (error: unknown): boolean =>
  codeOf(error) === '0A000' && messageOf(error).startsWith('cached plan')

/** Whether a statement exceeded `statement_timeout`; also for the translated `Failure`. */
export const isTimeout = (error: unknown): boolean =>
  codeOf(error instanceof Failure ? error.detail : error) === '57014'

/** Whether a statement exceeded `lock_timeout`; also for the translated `Failure`. */
export const isLockTimeout = (error: unknown): boolean =>
  codeOf(error instanceof Failure ? error.detail : error) === LOCK_TIMEOUT

/** A table, a schema or a function exists. */
const EXISTS = new Set(['42P07', '42P06', '42723'])

/**
 * Whether another transaction has created an object of the same name meanwhile: its name was free,
 * and the catalog has it now. Also for the translated error.
 */
export function isCreatedMeanwhile(error: unknown): boolean {
  const original = error instanceof ConstraintError ? error.cause : error
  const { schema } = (original ?? {}) as PostgresError
  return EXISTS.has(codeOf(original)) || (codeOf(original) === '23505' && schema === 'pg_catalog')
}

/** Returns the name of a table or an index that exists already; undefined for other errors. */
export const nameTakenBy = (error: unknown): string | undefined =>
  codeOf(error) === '42P07' ? /^relation "([^"]+)"/.exec(messageOf(error))?.[1] : undefined

/** Whether no partition has the time of a row. */
export const isWithoutPartition = (error: unknown): boolean =>
  codeOf(error) === '23514' && readText(error, 'constraint') === ''

/** Whether the server could not store for want of space. */
export const isDiskFull = (error: unknown): boolean => codeOf(error) === '53100'

/** Whether the role lacks a right. */
export const isDenied = (error: unknown): boolean => codeOf(error) === '42501'

/** Whether a statement met a damaged page. A session that does not open may lack a library. */
export const isDamage = (error: unknown): boolean =>
  DAMAGED.has(codeOf(error)) && !isUnopened(error)

/** Whether the server does not support a statement in its present state, as a standby. */
export const isUnsupported = (error: unknown): boolean => codeOf(error) === '0A000'

/** Whether a statement does not fit the types of its columns: no such operator, another type. */
export const isTypeMismatch = (error: unknown): boolean => /^42(883|804)$/.test(codeOf(error))

/** Whether the transaction can be repeated. */
export const isRetryable = (error: unknown): boolean =>
  RETRYABLE.has(codeOf(error)) || isStalePlan(error)

/**
 * Returns the constraint that compared a row with others, and the values that violate it; undefined
 * for any other error.
 */
export function violationOf(error: unknown): string | undefined {
  const code = codeOf(error)
  if (!VIOLATIONS.has(code)) return undefined
  const { constraint, detail, message } = error as PostgresError
  return [code, constraint, detail ?? message].join(' ')
}

/**
 * Returns the name of the violated constraint as it was declared. An error of a distributed table
 * has only a message: its last name is that of the constraint in a shard, whose number follows it.
 */
function constraintOf(error: PostgresError): string | undefined {
  return error.constraint ?? /"([^"]*)_\d{6,}"[^"]*$/.exec(error.message)?.[1]
}

/** Returns the error for a log, without the value that its message quotes. */
const withoutValue = (error: unknown): Error =>
  Object.assign(new Error(messageOf(error).replace(/".*"/s, '…')), { code: codeOf(error) })

/** Translates an error of PostgreSQL; returns any other error unchanged. */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof Failure || error instanceof ConstraintError) return error
  if (error instanceof DurabilityLostError) {
    const isUnlogged = error.fault === 'unlogged'
    const message = isUnlogged ? 'A table of the database has no replica. Retry later.' : undefined
    return new Failure('durability_lost', message, { detail: error })
  }
  const code = codeOf(error)
  if (code === '55000' && (error as Error).message === MOVED_MESSAGE)
    return installationMoved(error)
  if (code === '23505')
    return new ConstraintError('unique', constraintOf(error as PostgresError), error)
  if (code === '23503' || code === '23001') {
    return new ConstraintError('reference', constraintOf(error as PostgresError), error)
  }
  if (UNSTORABLE.has(code)) {
    return new Failure('invalid_request', 'A value cannot be stored.', {
      detail: withoutValue(error),
    })
  }
  if (SCHEMA_LACKS.has(code)) return new SchemaError(error as Error)
  if (code === INDEX_LACKS) return new SchemaError(error as Error, 'a unique index')
  if (isDamage(error)) return storageDamaged(error)
  const isAway = isUnopened(error) || isConnectionLost(error)
  if (isAway || UNAVAILABLE.test(code) || RETRYABLE.has(code)) return storageUnavailable(error)
  return error
}
