/**
 * Several statements in one round trip to PostgreSQL. The server receives them in one message
 * sequence with one Sync: after a statement that fails it executes none of the others. So BEGIN and
 * COMMIT can be part of a batch: a statement never runs outside its transaction.
 */
import type pg from 'pg'

export interface BatchStatement {
  readonly text: string
  readonly values: readonly unknown[]
  /** The name of the prepared statement; undefined: it has none. */
  readonly name?: string | undefined
  readonly arrays?: boolean | undefined
  /** BEGIN, COMMIT and savepoints: the server describes no result. */
  readonly isCommand?: boolean
  readonly resolve: (result: pg.QueryResult) => void
  readonly reject: (error: unknown) => void
}

/** The part of a connection of pg that a batch uses. */
interface WireConnection {
  readonly stream: { cork(): void; uncork(): void }
  /** The texts of the statements that the server has prepared, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>
  parse(query: { text: string; name: string | undefined }): void
  bind(config: {
    statement: string | undefined
    values: readonly unknown[]
    valueMapper: (value: unknown) => unknown
  }): void
  describe(message: { type: 'P'; name: string }): void
  execute(config: object): void
  sync(): void
}

interface Result extends pg.QueryResult {
  addFields(fields: unknown): void
  parseRow(fields: unknown): pg.QueryResultRow
  addRow(row: pg.QueryResultRow): void
  addCommandComplete(message: unknown): void
}

/** Creates an empty result of pg. */
type CreateResult = (mode: 'array' | '') => object

const toParameter = (value: unknown): unknown => {
  if (value === null || value instanceof Buffer) return value
  return value instanceof Uint8Array ? Buffer.from(value) : String(value)
}

/** A query of pg with several statements (its `Submittable`), which pg calls with each message. */
class StatementBatch {
  readonly #statements: readonly BatchStatement[]
  readonly #create: CreateResult
  readonly #onEnd: () => void
  #index = 0
  #result: Result

  constructor(
    statements: readonly BatchStatement[],
    createResult: CreateResult,
    onEnd: () => void,
  ) {
    this.#statements = statements
    this.#create = createResult
    this.#onEnd = onEnd
    this.#result = this.#createResult()
  }

  /** Name and text of the current statement: pg stores them when the server has prepared it. */
  get name(): string | undefined {
    return this.#statements[this.#index]?.name
  }

  get text(): string | undefined {
    return this.#statements[this.#index]?.text
  }

  /** The texts of all statements, for those who watch what a connection sends. */
  get texts(): readonly string[] {
    return this.#statements.map(({ text }) => text)
  }

  /** Sends all statements in one write. */
  submit(connection: WireConnection): void {
    const preparedNames = new Set<string>()
    connection.stream.cork()
    try {
      for (const { text, name, values, isCommand } of this.#statements) {
        const isPrepared =
          name !== undefined &&
          (connection.parsedStatements[name] !== undefined || preparedNames.has(name))
        if (!isPrepared) connection.parse({ text, name })
        if (name !== undefined) preparedNames.add(name)
        connection.bind({ statement: name, values, valueMapper: toParameter })
        if (!isCommand) connection.describe({ type: 'P', name: '' })
        connection.execute({})
      }
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  handleRowDescription({ fields }: { readonly fields: unknown }): void {
    this.#result.addFields(fields)
  }

  handleDataRow({ fields }: { readonly fields: unknown }): void {
    this.#result.addRow(this.#result.parseRow(fields))
  }

  handleCommandComplete(message: unknown): void {
    this.#result.addCommandComplete(message)
    this.#statements[this.#index]!.resolve(this.#result)
    this.#index++
    this.#result = this.#createResult()
  }

  handleError(error: unknown): void {
    for (const { reject } of this.#statements.slice(this.#index)) reject(error)
    this.#index = this.#statements.length
    this.#onEnd()
  }

  handleReadyForQuery(): void {
    this.#onEnd()
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
  handleCopyInResponse(): void {}

  #createResult(): Result {
    const isArray = this.#statements[this.#index]?.arrays
    return this.#create(isArray ? 'array' : '') as Result
  }
}

/** Sends statements in one round trip; resolves at its end, also after a failed statement. */
export const sendBatch = (
  session: pg.ClientBase,
  statements: readonly BatchStatement[],
  createResult: CreateResult,
): Promise<void> =>
  new Promise((resolve) => {
    session.query(new StatementBatch(statements, createResult, resolve) as unknown as pg.Query)
  })
