/**
 * Shares a bounded amount (bytes, streams) among callers (§11.5, decision 0084), in three levels:
 * the process, a group of callers, a caller. A full level gives space by cutting holdings of those
 * that hold more; a caller that holds little is not rejected for what others of its group hold.
 */
import type { Clock } from './clock.ts'

export type Level = 'process' | 'group' | 'caller'

/** The most that each level holds. */
export interface Shares extends Readonly<Record<Level, number>> {
  /** A caller that holds at most this cuts larger holdings, also those with progress. */
  readonly small: number
  /**
   * In a full process, a group that holds at most this cuts holdings of larger groups, also those
   * with progress. Default 0.
   */
  readonly smallGroup?: number
  /** A holding without progress for this time gives way to any caller that holds less. */
  readonly stalledMs: number
}

export interface BudgetOwner {
  /** A customer and mode, or its persons; all operators; an address without a credential. */
  readonly group: string
  /** The credential, the person, or the address; unique in the process. */
  readonly caller: string
}

export interface Holding {
  /**
   * Adds to the holding; cuts others for it if their level is full. Returns the level that has no
   * space, and then adds nothing. Also a holding that was cut or released cannot grow.
   */
  grow(amount: number): Level | undefined
  /** Reports progress. */
  progress(): void
  /** Excludes the holding from cuts. */
  keep(): void
  release(): void
}

interface CountedHolding {
  readonly owner: BudgetOwner
  readonly cut: () => void
  readonly expected: number
  amount: number
  progressMs: number
  isKept: boolean
}

type Growing = Pick<CountedHolding, 'owner' | 'amount' | 'expected'>

/** The level without space, or the holdings to cut. */
type Plan = Level | readonly CountedHolding[]

export class Budget {
  readonly #shares: Shares
  readonly #clock: Pick<Clock, 'elapsedMs'>
  /** In the order of their latest progress. */
  readonly #entries = new Set<CountedHolding>()
  readonly #groups = new Map<string, number>()
  readonly #callers = new Map<string, number>()
  #total = 0

  constructor(shares: Shares, clock: Pick<Clock, 'elapsedMs'>) {
    this.#shares = shares
    this.#clock = clock
  }

  get total(): number {
    return this.#total
  }

  /**
   * Begins a holding of 0, which may grow to `expected`. `cut` ends it for another; the budget has
   * released it then.
   */
  hold(owner: BudgetOwner, cut: () => void, expected = 0): Holding {
    const progressMs = this.#clock.elapsedMs()
    const entry: CountedHolding = { owner, cut, expected, amount: 0, progressMs, isKept: false }
    this.#entries.add(entry)
    return {
      grow: (amount) => this.#grow(entry, amount),
      progress: () => {
        if (!this.#entries.delete(entry)) return
        entry.progressMs = this.#clock.elapsedMs()
        this.#entries.add(entry)
      },
      keep: () => {
        entry.isKept = true
      },
      release: () => this.#remove(entry),
    }
  }

  /** Returns the level without space for a further holding. */
  fullLevel(owner: BudgetOwner, amount: number): Level | undefined {
    const plan = this.#plan({ owner, amount: 0, expected: 0 }, amount)
    return typeof plan === 'string' ? plan : undefined
  }

  /** Returns the most, up to `max`, that a further holding may have. */
  free(owner: BudgetOwner, max: number): number {
    const held = this.heldBy(owner)
    const most = held === 0 ? max : Math.min(max, this.#shares.caller - held)
    const { group, small } = this.#shares
    const amounts = [most, group - (this.#groups.get(owner.group) ?? 0), small - held]
    const fits = (n: number) => n > 0 && n <= most && this.fullLevel(owner, n) === undefined
    return Math.max(0, ...amounts.filter(fits))
  }

  /** Returns the holdings of a caller. */
  heldBy({ caller }: BudgetOwner): number {
    return this.#callers.get(caller) ?? 0
  }

  /** Cuts holdings without progress for `ms`. */
  cutStalled(ms: number): void {
    for (const entry of this.#entries) {
      if (!this.#isStalled(entry, ms)) return
      this.#cut(entry)
    }
  }

  #grow(entry: CountedHolding, amount: number): Level | undefined {
    if (!this.#entries.has(entry)) return 'process'
    const plan = this.#plan(entry, amount)
    if (typeof plan === 'string') return plan
    for (const other of plan) this.#cut(other)
    this.#count(entry, amount)
    return undefined
  }

  #plan(entry: Growing, amount: number): Plan {
    const { group, caller } = entry.owner
    const [held, groupHeld] = [this.#callers.get(caller) ?? 0, this.#groups.get(group) ?? 0]
    if (held !== entry.amount && held + amount > this.#shares.caller) return 'caller'
    // A single holding may be larger than the bound.
    const excess = groupHeld === entry.amount ? 0 : groupHeld + amount - this.#shares.group
    const processExcess = this.#total + amount - this.#shares.process
    if (excess <= 0 && processExcess <= 0) return []
    // Others are cut for the whole of it, not again for each part.
    const missing = Math.max(amount, entry.expected - entry.amount)
    const { small, smallGroup = 0 } = this.#shares
    const isSmall = held + missing <= small
    const cutsGroups = isSmall || groupHeld + missing <= smallGroup
    const isSibling = ({ owner }: CountedHolding) =>
      owner.group === group && (this.#callers.get(owner.caller) ?? 0) > held + missing
    const isOfLargerGroup = ({ owner }: CountedHolding) =>
      (this.#groups.get(owner.group) ?? 0) > groupHeld + missing
    const cuts = this.#select(excess, (other) => {
      return isSibling(other) && (isSmall || this.#isStalled(other))
    })
    if (!cuts) return 'group'
    const freed = cuts.reduce((sum, other) => sum + other.amount, 0)
    const more = this.#select(processExcess - freed, (other) => {
      if (other === entry || cuts.includes(other)) return false
      if (this.#isStalled(other) || (isSmall && isSibling(other))) return true
      return cutsGroups && isOfLargerGroup(other)
    })
    return more ? [...cuts, ...more] : 'process'
  }

  /** Returns the largest holdings that may be cut and amount to `excess`. */
  #select(
    excess: number,
    mayCut: (entry: CountedHolding) => boolean,
  ): readonly CountedHolding[] | undefined {
    if (excess <= 0) return []
    const sizeOf = ({ owner }: CountedHolding) => [
      this.#groups.get(owner.group) ?? 0,
      this.#callers.get(owner.caller) ?? 0,
    ]
    const candidates = [...this.#entries]
      .filter((entry) => !entry.isKept && mayCut(entry))
      .map((entry) => ({ entry, size: sizeOf(entry) }))
    // Of equal ones, the one with the oldest progress is first.
    candidates.sort((a, b) => b.size[0]! - a.size[0]! || b.size[1]! - a.size[1]!)
    let rest = excess
    const end = candidates.findIndex(({ entry }) => (rest -= entry.amount) <= 0)
    return end < 0 ? undefined : candidates.slice(0, end + 1).map(({ entry }) => entry)
  }

  #isStalled({ progressMs }: CountedHolding, ms = this.#shares.stalledMs): boolean {
    return this.#clock.elapsedMs() - progressMs >= ms
  }

  #count(entry: CountedHolding, amount: number): void {
    entry.amount += amount
    this.#total += amount
    addTo(this.#groups, entry.owner.group, amount)
    addTo(this.#callers, entry.owner.caller, amount)
  }

  #remove(entry: CountedHolding): void {
    if (this.#entries.delete(entry)) this.#count(entry, -entry.amount)
  }

  #cut(entry: CountedHolding): void {
    this.#remove(entry)
    entry.cut()
  }
}

function addTo(sums: Map<string, number>, key: string, amount: number): void {
  const sum = (sums.get(key) ?? 0) + amount
  if (sum > 0) sums.set(key, sum)
  else sums.delete(key)
}
