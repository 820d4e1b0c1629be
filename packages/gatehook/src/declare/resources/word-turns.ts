/**
 * The order of the words of a transaction of own code. Code may run them in parallel, but each
 * change sees the rows of those before it, and a savepoint has no statement of another word: so
 * reads run together, and a change runs alone. Code that fails ends after the words that it has
 * begun, because a rollback to a savepoint undoes nothing that follows. Contains no SQL.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Tx } from '../../platform/storage/database.ts'

type Task<T> = () => Promise<T>

const ignore = (): void => {}
const endOf = (running: Promise<unknown>): Promise<void> => running.then(ignore, ignore)

/** The words of some code: of a whole transaction, or of one `tx.sql.attempt(…)` in it. */
class CodeTurns {
  #changes: Promise<void> = Promise.resolve()
  #reads: Promise<void> = Promise.resolve()
  #hasEnded = false

  /** Runs reads beside each other, after the changes that were begun before. */
  read<T>(task: Task<T>): Promise<T> {
    const running = this.#changes.then(() => this.#begin(task))
    this.#reads = endOf(Promise.all([this.#reads, endOf(running)]))
    return running
  }

  /** Runs a change after all words that were begun before. */
  change<T>(task: Task<T>): Promise<T> {
    const running = Promise.all([this.#changes, this.#reads]).then(() => this.#begin(task))
    this.#changes = endOf(running)
    return running
  }

  async #begin<T>(task: Task<T>): Promise<T> {
    if (this.#hasEnded) throw new Error('the code of this change has failed')
    return task()
  }

  /** Ends the code: words that have not begun fail. Resolves when the others have ended. */
  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all([this.#changes, this.#reads])
  }

  /** Runs code with these turns, which end with it if it fails. */
  async run<T>(code: Task<T>): Promise<T> {
    try {
      return await code()
    } catch (error) {
      await this.end()
      throw error
    }
  }
}

interface Attempt {
  readonly words: WordTurns
  readonly turns: CodeTurns
}

/** The innermost `tx.sql.attempt(…)` around the current code. */
const attempt = new AsyncLocalStorage<Attempt>()

/** The words of one handle of a transaction. Code that a word runs has a handle of its own. */
export class WordTurns {
  readonly #tx: Tx
  readonly #outermost = new CodeTurns()
  /** The failure of a change that had begun, unless a savepoint has undone it. */
  #partial: { readonly error: unknown } | undefined

  constructor(tx: Tx) {
    this.#tx = tx
  }

  read<T>(task: Task<T>): Promise<T> {
    return this.#current().read(task)
  }

  change<T>(task: Task<T>): Promise<T> {
    return this.#current().change(async () => {
      const rowsLeft = budgetOf(this.#tx).left('rows')
      try {
        return await task()
      } catch (error) {
        if (budgetOf(this.#tx).left('rows') < rowsLeft) this.#partial ??= { error }
        throw error
      }
    })
  }

  /** Runs `change` in a savepoint. */
  attempt<T>(setSavepoint: Tx['attempt'], change: Task<T>): Promise<T> {
    return this.#current().change(async () => {
      const partial = this.#partial
      const turns = new CodeTurns()
      const run = () => attempt.run({ words: this, turns }, change)
      try {
        return await setSavepoint(() => turns.run(run))
      } catch (error) {
        this.#partial = partial
        throw error
      }
    })
  }

  /**
   * Runs the code of the handle. Throws the failure of a change that had begun, also if the code
   * has caught it: a part of the change would commit.
   */
  run<T>(code: Task<T>): Promise<T> {
    return this.#outermost.run(async () => {
      const result = await code()
      if (this.#partial) throw this.#partial.error
      return result
    })
  }

  #current(): CodeTurns {
    const around = attempt.getStore()
    return around?.words === this ? around.turns : this.#outermost
  }
}
