/**
 * What came of attempts and is not on disk yet: results, the health of endpoints, who is to be
 * switched off. Written in batches; kept until they are written, however often that fails.
 */
import type { Endpoint } from './endpoint.ts'
import type { DisabledReason, Note, Settlement, WorkStore } from './work.ts'

/** Results written in one transaction. */
const BATCH_MAX = 512

interface Result {
  readonly endpoint: Endpoint
  readonly settlement: Settlement
}

interface SwitchOff {
  readonly endpoint: Endpoint
  /** Its receiver, which asked for it. */
  readonly url: string
  readonly reason: DisabledReason
}

export class Ledger {
  readonly #store: Pick<WorkStore, 'settle' | 'disable'>
  readonly #noted = new Set<Endpoint>()
  #unwritten: Result[] = []
  #off: SwitchOff[] = []
  #settling: Promise<void> = Promise.resolve()

  constructor(store: Pick<WorkStore, 'settle' | 'disable'>) {
    this.#store = store
  }

  /** Results that wait. */
  get size(): number {
    return this.#unwritten.length
  }

  get isEmpty(): boolean {
    return this.#unwritten.length + this.#noted.size + this.#off.length === 0
  }

  add(endpoint: Endpoint, settlement: Settlement): void {
    this.#unwritten.push({ endpoint, settlement })
    endpoint.unwritten += 1
  }

  /** Its health, or for how long it is parked, changed. */
  note(endpoint: Endpoint): void {
    this.#noted.add(endpoint)
  }

  hasNote(endpoint: Endpoint): boolean {
    return this.#noted.has(endpoint)
  }

  /** What was noted is of a receiver it has no more. */
  forget(endpoint: Endpoint): void {
    this.#noted.delete(endpoint)
  }

  switchOff(what: SwitchOff): void {
    this.#off.push(what)
  }

  /**
   * Writes what there is; what comes meanwhile waits for the next call, so that one commit has
   * many. Calls follow one another. Throws when writing fails, and keeps what is not written.
   */
  settle(written: (endpoint: Endpoint) => void, off: (what: SwitchOff) => void): Promise<void> {
    const turn = this.#settling
      .catch(() => undefined)
      .then(async () => {
        let left = this.#unwritten.length
        do {
          const endpoints = await this.#write()
          left -= endpoints.length
          for (const endpoint of new Set(endpoints)) written(endpoint)
        } while (left > 0)
        for (let one = await this.#disable(); one; one = await this.#disable()) off(one)
      })
    this.#settling = turn
    return turn
  }

  /** One transaction of results; gives the endpoints they were of. */
  async #write(): Promise<Endpoint[]> {
    const batch = this.#unwritten.slice(0, BATCH_MAX)
    const noted = [...this.#noted]
    if (batch.length + noted.length === 0) return []
    const notes = noted.map(noteOf)
    await this.#store.settle(
      batch.map((result) => result.settlement),
      notes,
    )
    this.#unwritten = this.#unwritten.slice(batch.length)
    for (const { endpoint, settlement } of batch) {
      endpoint.known.delete(settlement.no)
      endpoint.unwritten -= 1
      if (settlement.nextAt !== null) endpoint.expect(settlement.nextAt)
    }
    noted.forEach((endpoint, at) => {
      if (isSame(noteOf(endpoint), notes[at]!)) this.#noted.delete(endpoint)
    })
    return batch.map((result) => result.endpoint)
  }

  /** Switches one off; undefined when none is to be. */
  async #disable(): Promise<SwitchOff | undefined> {
    const next = this.#off[0]
    if (!next) return undefined
    await this.#store.disable(next.endpoint.no, next.reason, next.url)
    this.#off.shift()
    return next
  }
}

const noteOf = ({ no, registration, health, parkedUntil }: Endpoint): Note => ({
  no,
  url: registration?.url ?? '',
  firstFailureAt: health.firstFailureAt,
  lastFailureAt: health.lastFailureAt,
  lastSuccessAt: health.lastSuccessAt,
  parkedUntil: parkedUntil || null,
})

const isSame = (one: Note, other: Note): boolean =>
  one.firstFailureAt === other.firstFailureAt &&
  one.lastFailureAt === other.lastFailureAt &&
  one.lastSuccessAt === other.lastSuccessAt &&
  one.parkedUntil === other.parkedUntil
