/**
 * The order of the words of a transaction of own code. Code may run them in parallel, but each
 * change sees the rows of those before it, and a savepoint has no statement of another word: so
 * reads run together, and a change runs alone. Code that fails ends after the words that it has
 * begun, because a rollback to a savepoint undoes nothing that follows. Contains no SQL.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { mayChange } from '../../platform/storage/sql.ts'
import { type AwaitedWords, createAwaitedWords, isRead, type Word } from './awaited-words.ts'
import { OwnStatement } from './own-sql.ts'
import type { HandlerTurns } from './read-turns.ts'

type Task<T> = () => Promise<T>

const ignore = (): void => {}
const endOf = (running: Promise<unknown>): Promise<void> => running.then(ignore, ignore)

/** The words of some code: of a whole transaction, or of one `tx.sql.attempt(…)` in it. */
class CodeTurns {
  readonly words = createAwaitedWords()
  readonly #reading: HandlerTurns
  #changes: Promise<void> = Promise.resolve()
  #reads: Promise<void> = Promise.resolve()
  #state: 'runs' | 'done' | 'failed' = 'runs'

  constructor(reading: HandlerTurns) {
    this.#reading = reading
  }

  /** Whether the code has ended without an error. */
  get isDone(): boolean {
    return this.#state === 'done'
  }

  /**
   * Runs reads beside each other, after the changes that were begun before. A read takes its turn
   * when it may run: a waiting one would keep the turns of the change for which it waits.
   */
  read<T>(task: Task<T>): Promise<T> {
    const changes = this.#changes
    const running = changes.then(() => this.#reading.take(() => this.#begin(task)))
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
    if (this.#state !== 'runs') throw new Error('the code around this word has ended')
    return task()
  }

  /**
   * Runs code with these turns, which end with it. Words that have not begun fail then; the others
   * end before. Throws if the code does not await a change.
   */
  async run<T>(code: Task<T>): Promise<T> {
    try {
      const result = await code()
      await this.words.settle()
      this.#state = 'done'
      return result
    } catch (error) {
      this.#state = 'failed'
      this.#reading.end()
      await Promise.all([this.#changes, this.#reads])
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
  readonly #openReads: () => HandlerTurns
  readonly #outermost: CodeTurns
  /** The failure of a change that had begun, unless a savepoint has undone it. */
  #partial: { readonly error: unknown } | undefined

  constructor(tx: Tx, openReads: () => HandlerTurns) {
    this.#tx = tx
    this.#openReads = openReads
    this.#outermost = new CodeTurns(openReads())
  }

  /** Returns a word that runs in its turn, and that the code around a call has to await. */
  inTurn<W extends Word>(name: string, word: W): W {
    const call = (...given: never[]): Promise<unknown> => {
      const turns = this.#current()
      const [subject] = given as readonly unknown[]
      const isChange = !isRead(name) || (subject instanceof OwnStatement && mayChange(subject))
      const task = async () => word(...given)
      return turns.words.call({ name, subject, isChange }, () =>
        isChange ? this.#change(turns, task) : turns.read(task),
      )
    }
    return call as W
  }

  async #change<T>(turns: CodeTurns, task: Task<T>): Promise<T> {
    if (turns.isDone) this.#partial ??= { error: new Error('an attempt has ended before its code') }
    return turns.change(async () => {
      const before = this.#begunWork()
      try {
        return await task()
      } catch (error) {
        if (this.#begunWork() > before) this.#partial ??= { error }
        throw error
      }
    })
  }

  /** Returns the word that runs code in a savepoint. */
  attempt(name: string, setSavepoint: Tx['attempt']): Tx['attempt'] {
    return (change) => {
      const outer = this.#current()
      const run = async () => {
        const partial = this.#partial
        const turns = new CodeTurns(this.#openReads())
        const code = () => attempt.run({ words: this, turns }, async () => change())
        try {
          return await setSavepoint(() => turns.run(code))
        } catch (error) {
          this.#partial = partial
          throw error
        }
      }
      return outer.words.call({ name, subject: undefined, isChange: true }, () => outer.change(run))
    }
  }

  /**
   * Runs the code of the handle. Throws the failure of a change that had begun, also if the code
   * has caught it: a part of the change would commit.
   */
  async run<T>(code: (words: AwaitedWords) => T | Promise<T>): Promise<T> {
    const result = await this.#outermost.run(async () => code(this.#outermost.words))
    if (this.#partial) throw this.#partial.error
    return result
  }

  /** Returns statements that may have changed rows, and rows whose statement was to come. */
  #begunWork(): number {
    return this.#tx.writes - budgetOf(this.#tx).left('rows')
  }

  #current(): CodeTurns {
    const around = attempt.getStore()
    return around?.words === this ? around.turns : this.#outermost
  }
}
